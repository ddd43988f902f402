// SPDX-License-Identifier: BSD-2-Clause
// The status page. What comes from outside, keys above all, becomes text nodes and nothing else.
"use strict";

const PERIOD_MS = 2000;
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
let before = null; // the answer that rates are counted from
let last = null; // the answer that is shown
let history = "minutes";
let isPaused = false;

function make(name, text, className) {
	const element = document.createElement(name);
	if (text !== undefined)
		element.textContent = text;
	if (className)
		element.className = className;
	return element;
}

function draw(name, attributes) {
	const element = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		element.setAttribute(key, value);
	return element;
}

// Of a narrow page, each cell says which column it is of.
function cell(label, content, className) {
	const element = make("td", undefined, className);
	element.dataset.label = label;
	element.append(content instanceof Node ? content : make("span", content));
	return element;
}

function row(key, ...cells) {
	const line = make("tr");
	const head = make("th", key, "key");
	head.scope = "row";
	line.append(head, ...cells);
	return line;
}

function fill(id, rows, columns, nothing) {
	if (rows.length === 0) {
		const line = make("tr");
		const only = make("td", nothing);
		only.colSpan = columns;
		line.append(only);
		rows = [line];
	}
	at(id).replaceChildren(...rows);
}

function clock(ms) {
	return new Date(ms).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", hour12: false});
}

function span(ms) {
	const s = Math.ceil(ms / 1000);
	if (s < 120)
		return s + " s";
	if (s < 7200)
		return Math.round(s / 60) + " min";
	return s < 172800 ? Math.round(s / 3600) + " h" : Math.round(s / 86400) + " d";
}

function rate(value) {
	return value >= 10 || value === 0 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
}

// Of one counter, since the answer before; at first, of the minute before this one.
function perSecond(rule, name, column) {
	const old = before && before.rules.find((other) => other.name === rule.name);
	if (old && last.now > before.now && rule[name] >= old[name])
		return (rule[name] - old[name]) * 1000 / (last.now - before.now);
	const minute = rule.minutes[rule.minutes.length - 2];
	return minute ? minute[column] / 60 : 0;
}

// The first of the spans without a pause up to now in which there were denials; the current one may have none yet.
function deniedSince(rule) {
	const spans = rule[history];
	let i = spans.length - 1;
	if (i >= 0 && spans[i][2] === 0)
		i--;
	if (i < 0 || spans[i][2] === 0)
		return "not now";
	while (i > 0 && spans[i - 1][2] > 0)
		i--;
	return i === 0 ? "before " + clock(spans[0][0]) : clock(spans[i][0]);
}

function bars(picture, spans, column, className, zero, room) {
	const most = Math.max(1, ...spans.map((one) => one[column]));
	const step = 240 / spans.length;
	spans.forEach((one, i) => {
		if (one[column] === 0)
			return;
		const height = Math.max(1, one[column] / most * room);
		picture.append(draw("rect", {class: className, x: i * step, width: Math.max(1, step - 1),
			y: column === 1 ? zero - height : zero, height}));
	});
}

function sparkline(rule) {
	const spans = rule[history];
	const picture = draw("svg", {viewBox: "0 0 240 48", role: "img", preserveAspectRatio: "none"});
	const most = (column) => Math.max(0, ...spans.map((one) => one[column])).toLocaleString("en");
	const unit = history === "minutes" ? "a minute" : "in a quarter of an hour";
	const title = draw("title", {});
	title.textContent = `At most ${most(1)} allowed and ${most(2)} denied ${unit}; denied since: ${deniedSince(rule)}`;
	picture.append(title);
	bars(picture, spans, 1, "allowed", 24, 22);
	bars(picture, spans, 2, "denied", 24, 22);
	picture.append(draw("line", {class: "zero", x1: 0, x2: 240, y1: 24, y2: 24}));
	return picture;
}

function limits(rule) {
	const list = make("ul");
	for (const limit of rule.limits)
		list.append(make("li", `${limit.text} (${limit.algorithm}): ` + (limit.shadow ? "shadow, would have denied " : "denied ")
			+ limit.denied.toLocaleString("en")));
	return list;
}

function showRules() {
	at("rules-caption").textContent = "Rules, the one with the most denials in the last hour first"
		+ (last.rule_count > last.rules.length ? `; ${last.rules.length} of ${last.rule_count} are shown` : "");
	fill("rules-body", last.rules.map((rule) => row(rule.name,
		cell("limits", limits(rule)),
		cell("allowed /s", rate(perSecond(rule, "allowed", 1)), "n"),
		cell("denied /s", rate(perSecond(rule, "denied", 2)), "n"),
		cell("denied since", deniedSince(rule)),
		cell("history", sparkline(rule)))), 6, "No rule is defined.");
}

function comesBack(entry) {
	if (entry.state !== "limited" && entry.state !== "banned")
		return entry.state === "open" ? "now" : "not known";
	return entry.retry < 0 ? "never" : "in " + span(entry.retry);
}

function showKeys() {
	const words = {limited: "limited", banned: "banned", open: "open again", unknown: "not known"};
	fill("keys", last.keys.slice().reverse().map((entry) => row(entry.key,
		cell("now", words[entry.state], entry.state),
		cell("may come back", comesBack(entry)),
		cell("denied at", new Date(entry.time).toLocaleTimeString([], {hour12: false})),
		cell("rule", entry.rule),
		cell("limit", entry.state === "banned" ? "" : String(entry.limit), "n"))), 6,
		last.no_events ? "The segment keeps no events: 'rlctl list --limited' shows who is limited." : "Nobody was denied.");
}

function showBans() {
	at("bans-caption").textContent = "Bans and exemptions in force"
		+ (last.bans_more ? `; the first ${last.bans.length} are shown, 'rlctl bans' has all` : "");
	fill("bans", last.bans.map((ban) => row(ban.key,
		cell("kind", ban.exemption ? "exempt" : "banned", ban.exemption ? "" : "banned"),
		cell("rule", ban.rule || "all"),
		cell("until", ban.until < 0 ? "no end" : "in " + span(ban.until - last.now)))), 4, "None.");
}

function showHealth() {
	at("health").replaceChildren(...last.health.map((line) =>
		make("li", ({ok: "OK: ", note: "Note: ", warn: "Warning: "})[line.level] + line.text, line.level)));
	fill("areas", last.areas.map((area) => row(area.name,
		cell("used", area.used.toLocaleString("en"), "n"),
		cell("room", area.room.toLocaleString("en"), "n"),
		cell("share", (area.room > 0 ? Math.floor(area.used * 100 / area.room) : 0) + " %", "n"))), 4, "");
}

// Spoken by a screen reader when it changes, and so without the time.
function tell(text, isBad) {
	if (at("state").textContent !== text)
		at("state").textContent = text;
	at("state").className = isBad ? "warn" : "";
}

function summary() {
	const warnings = last.health.filter((line) => line.level === "warn").length;
	const limited = last.keys.filter((entry) => entry.state === "limited" || entry.state === "banned").length;
	return (warnings === 0 ? "No warning" : warnings === 1 ? "1 warning" : warnings + " warnings")
		+ "; of the keys denied last, " + (limited === 0 ? "none is" : limited === 1 ? "1 is" : limited + " are") + " limited now.";
}

function show() {
	document.title = "rl: " + last.segment;
	at("segment").textContent = last.segment;
	at("when").textContent = `rld ${last.version}, as of ${new Date(last.now).toLocaleString([], {hour12: false})}`;
	tell(summary(), last.health.some((line) => line.level === "warn"));
	showHealth();
	showRules();
	showKeys();
	showBans();
}

async function poll() {
	try {
		const answer = await fetch("/status.json", {cache: "no-store"});
		if (!answer.ok)
			throw new Error("status " + answer.status);
		const page = await answer.json();
		if (!last || page.now > last.now) {
			before = last;
			last = page;
		}
		show();
	} catch (error) {
		tell("rld does not answer: what is shown is old.", true);
	}
}

async function run() {
	if (!isPaused && !document.hidden)
		await poll();
	setTimeout(run, PERIOD_MS);
}

function choose(name) {
	history = name;
	at("hour").setAttribute("aria-pressed", String(name === "minutes"));
	at("day").setAttribute("aria-pressed", String(name === "quarters"));
	if (last)
		showRules();
}

at("hour").addEventListener("click", () => choose("minutes"));
at("day").addEventListener("click", () => choose("quarters"));
at("pause").addEventListener("click", () => {
	isPaused = !isPaused;
	at("pause").setAttribute("aria-pressed", String(isPaused));
	at("pause").textContent = isPaused ? "Go on" : "Pause";
});
run();
