#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What people search for is found where it is true: words of searches, and the page that answers them. Words are compared
without case, and a page's line breaks are blanks. Run from the top.
"""
import re
import sys

WORDS = {
    "README.md": """rate limiting; rate limiter; throttling; pre-forked; per worker; not shared; multiplied by the number of workers;
        without Redis; shared memory; gunicorn; uvicorn; Puma; PHP-FPM; nginx; Apache; Node cluster; FastAPI; Starlette; Django; Flask; Celery;
        Sidekiq; semaphore; brute force; express-rate-limit; limit_req; Rack::Attack; Laravel; Symfony; HAProxy; OpenResty; PostgreSQL; Postfix;
        fail2ban; nftables""",
    "docs/COMPARE.md": "compared with; nginx; HAProxy; Envoy; Redis; memcached; mod_evasive; slowapi; express-rate-limit; macOS; Linux only; "
                       "where rl loses",
    "docs/COOKBOOK.md": """OWASP; credential stuffing; password guessing; brute force; login; one-time password; SMS; scraper; webhook; load shedding;
        bulkhead; noisy neighbour; multi-tenant; GraphQL; spending limits; tiers; LLM; tokens a minute; RPM; TPM; quota""",
    "docs/CRAWLERS.md": """AI crawlers; GPTBot; ClaudeBot; Googlebot; Bingbot; robots.txt; user agent; ASN; GeoIP; country; JA4; captcha; Anubis;
        CrowdSec; scraper; DDoS; denial of service; firewall""",
    "docs/FAQ.md": """Docker; Kubernetes; SELinux; AppArmor; time zone; calendar; per month; WordPress; Nextcloud; Magento; abuse; spam; tarpit; backpressure;
        privacy; GDPR; OpenTelemetry; Prometheus; gRPC; macOS; Alpine; musl; Why not Redis""",
    "docs/JOBS.md": "semaphore; Celery; Sidekiq; Laravel; RQ; ActiveJob; BullMQ; killed worker",
    "docs/MOVING.md": "Moving; Flask-Limiter; slowapi; django-ratelimit; Rack::Attack; express-rate-limit; rate-limiter-flexible; Laravel; Symfony; "
                      "mod_evasive; limit_req; Redis; memcached; go back",
    "docs/ALGORITHMS.md": "sliding window; fixed window; token bucket; leaky bucket; GCRA; burst; concurrency limit",
    "SECURITY.md": "report; vulnerability; supported",
    "docs/VERSIONS.md": "soname; support; layout; 1.0",
    "bindings/python/README.md": "FastAPI; Starlette; Django; Flask; WSGI; ASGI; gunicorn; uvicorn; pip; Celery",
    "bindings/node/README.md": "express-rate-limit; fastify; PM2; cluster; npm install; TypeScript",
    "bindings/ruby/README.md": "Rails; Rack::Attack; Puma; Unicorn; Sidekiq; gem",
    "bindings/php/README.md": "php-fpm; Laravel; Symfony; composer",
    "servers/nginx/README.md": "limit_req; limit_conn; 429; X-RateLimit",
    "servers/apache/README.md": "prefork; 429",
    "servers/postfix/README.md": "policy; spam; recipients",
    "servers/nft/README.md": "firewall; CrowdSec; fail2ban; nftables",
}
# What a page of a language says first, for it is what its users search.
QUESTION = "Is your limit multiplied by the number of workers?"
LANGUAGES = ("lua", "node", "perl", "php", "python", "ruby")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"[\s_*`]+", " ", file.read()).lower()


def words_of(text):
    return [re.sub(r"[\s_]+", " ", word).strip().lower() for word in text.split(";")]


def missing():
    for path, words in WORDS.items():
        text = text_of(path)
        yield from (f"{path}: nobody who searches for '{word}' finds it" for word in words_of(words) if word not in text)
    for name in LANGUAGES:
        path = f"bindings/{name}/README.md"
        with open(path, encoding="utf-8") as file:
            beginning = " ".join(file.read().split("\n\n")[:2])
        if QUESTION not in " ".join(beginning.split()):
            yield f"{path}: it does not begin with '{QUESTION}'"


found = list(missing())
print("\n".join(found), file=sys.stderr, end="\n" if found else "")
sys.exit(bool(found))
