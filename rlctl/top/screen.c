/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/screen.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <rl_admin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/truncation.h"

#define EMPTY_READS 3 /* reads of nothing in a row that mean that the terminal is gone */

enum {
	PAIR_TITLE = 1,
	PAIR_ALARM,
	PAIR_HEAD,
};

static SCREEN *screen;
static bool has_colors_wanted;

/*
 * These bytes put the terminal back from within a signal handler, where curses must not be called.
 */
static struct termios before;
static char goodbye[128];

static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT, SIGSYS};

/* The default action, restored by SA_RESETHAND, ends the program. */
static void
end_badly(int number, siginfo_t *info, void *context)
{
	ssize_t ignored;

	(void)context;
	truncation_leave(number, info);
	ignored = write(STDOUT_FILENO, goodbye, strlen(goodbye));
	(void)ignored;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	raise(number);
}

static void
catch_fatal(void)
{
	struct sigaction action = {.sa_sigaction = end_badly,
	                           .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND)};

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &action, NULL);
}

static void
add_capability(const char *name)
{
	const char *text = tigetstr(name);

	if (text && text != (char *)-1 && strlen(goodbye) + strlen(text) < sizeof(goodbye))
		strcat(goodbye, text);
}

static void
prepare_goodbye(void)
{
	goodbye[0] = '\0';
	add_capability("sgr0");
	add_capability("cnorm");
	add_capability("rmkx");
	add_capability("rmcup");
}

static void
prepare_colors(void)
{
	const char *no_color = secure_getenv("NO_COLOR");

	has_colors_wanted = has_colors() && !(no_color && no_color[0]);
	if (!has_colors_wanted)
		return;
	start_color();
	use_default_colors();
	init_pair(PAIR_TITLE, COLOR_CYAN, -1);
	init_pair(PAIR_ALARM, COLOR_RED, -1);
	init_pair(PAIR_HEAD, COLOR_YELLOW, -1);
}

/* A terminal whose cursor cannot be moved shows lines, not screens. */
static bool
can_show(void)
{
	const char *move_cursor = tigetstr("cup");

	return move_cursor && move_cursor != (char *)-1;
}

bool
screen_open(void)
{
	static bool is_registered;

	tcgetattr(STDIN_FILENO, &before);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	if (!can_show()) {
		screen_close();
		return false;
	}
	prepare_goodbye();
	catch_fatal();
	if (!is_registered)
		atexit(screen_close);
	is_registered = true;
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	prepare_colors();
	return true;
}

void
screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

size_t
screen_rows(void)
{
	return (size_t)LINES;
}

size_t
screen_columns(void)
{
	return (size_t)COLS;
}

static attr_t
attribute(enum style style)
{
	switch (style) {
	case STYLE_PLAIN:
		return A_NORMAL;
	case STYLE_TITLE:
		return has_colors_wanted ? A_BOLD | (attr_t)COLOR_PAIR(PAIR_TITLE) : A_BOLD;
	case STYLE_HEAD:
		return has_colors_wanted ? (attr_t)COLOR_PAIR(PAIR_HEAD) : A_UNDERLINE;
	case STYLE_ALARM:
		return has_colors_wanted ? (attr_t)COLOR_PAIR(PAIR_ALARM) : A_BOLD;
	case STYLE_SELECTED:
		break;
	}
	return A_REVERSE;
}

void
screen_show(const struct frame *frame, bool has_cursor)
{
	int row = 0, column = 0;

	erase();
	for (size_t i = 0; i < frame->count && i < screen_rows(); i++) {
		row = (int)i;
		attrset((int)attribute(frame->lines[i].style));
		mvaddstr(row, 0, frame->lines[i].text);
		column = getcurx(stdscr);
	}
	attrset(A_NORMAL);
	curs_set(has_cursor ? 1 : 0);
	move(row, column < COLS ? column : COLS - 1);
	refresh();
}

static int
translate(int key)
{
	switch (key) {
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_ENTER:
	case '\r':
	case '\n':
		return SCREEN_ENTER;
	case 27:
		return SCREEN_ESCAPE;
	case KEY_BACKSPACE:
	case 127:
	case '\b':
		return SCREEN_ERASE;
	default:
		return key < 256 ? key : SCREEN_NOTHING;
	}
}

/*
 * Wait with poll(), which a signal ends, and read without waiting: a read that finds nothing
 * where poll() saw something is the end of the input, or hardly ever half a key.
 */
int
screen_read(uint64_t wait_ns)
{
	static unsigned empty_reads;
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	int key = getch(), ready;

	if (key != ERR) {
		empty_reads = 0;
		return translate(key);
	}
	ready = poll(&input, 1, (int)((wait_ns + RL_MILLISECOND - 1) / RL_MILLISECOND));
	if (ready <= 0)
		return ready < 0 && errno != EINTR ? SCREEN_GONE : SCREEN_NOTHING;
	key = getch();
	if (key == ERR && ((input.revents & (POLLHUP | POLLERR)) || ++empty_reads >= EMPTY_READS))
		return SCREEN_GONE;
	if (key != ERR)
		empty_reads = 0;
	return key == ERR ? SCREEN_NOTHING : translate(key);
}
