# SPDX-License-Identifier: BSD-2-Clause
"""Django in one file: a view that counts in the cache as django-ratelimit does, and one that REST framework throttles."""

import os

import django
from django.conf import settings
from django.core.cache import caches
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY="none",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["rest_framework"],
    CACHES={
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "limits": {"BACKEND": "rl.django.Cache", "LOCATION": os.environ["RL_SEGMENT"]},
    },
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_THROTTLE_CLASSES": ["rl.rest.AnonThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "50/hour"},
    },
    RL_THROTTLE={"segment": os.environ["RL_SEGMENT"]},
)
django.setup()

from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


def ratelimit(request):
    """django-ratelimit's calls: add() at the first of a window, incr() at all others."""
    cache, key = caches["limits"], "rl:" + request.META["REMOTE_ADDR"]
    count = 1 if cache.add(key, 1, 3600) else cache.incr(key)
    return HttpResponse("hello\n", status=200 if count <= 50 else 429)


class Throttled(APIView):
    def get(self, request):
        return Response("hello")


urlpatterns = [path("ratelimit", ratelimit), path("throttle", Throttled.as_view())]
app = application = get_wsgi_application()
