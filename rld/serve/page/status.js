// SPDX-License-Identifier: BSD-2-Clause
// The status page. What comes from outside, keys above all, becomes text nodes and nothing else.
"use strict";

const PERIOD_MS = 2000;
const HISTORY_MS = 60000; // how often the history is asked for, which is most of an answer
const FULL_PERCENT = 80;
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
let before = null; // the answer that rates are counted from
let last = null; // the answer that is shown
let history = "minutes";
let isPaused = false;
let historyAt = 0; // when it came last
const histories = new Map(); // of each rule, as it came last
let filter = ""; // the rule that is shown alone; "" all
let wasBad = false;
// By which column each table is sorted, from 0, and whether it is turned round; -1 as it came.
const sorted = {keys: {column: -1, isTurned: false}, rules: {column: -1, isTurned: false}};

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

// The heads of a table, each a button that sorts by it, and at the second time the other way round.
function heads(id, columns, show) {
	const order = sorted[id];
	if (at(id + "-head").children.length === 0)
		at(id + "-head").replaceChildren(...columns.map(([text, className], i) => {
			const head = make("th", undefined, className);
			const button = make("button", text);
			button.type = "button";
			button.addEventListener("click", () => {
				order.isTurned = order.column === i && !order.isTurned;
				order.column = i;
				show();
			});
			head.scope = "col";
			head.append(button);
			return head;
		}));
	[...at(id + "-head").children].forEach((head, i) => {
		if (order.column !== i)
			head.removeAttribute("aria-sort");
		else
			head.setAttribute("aria-sort", order.isTurned ? "ascending" : "descending");
	});
}

// Numbers from the largest on, texts from A on; what is equal stays as it came.
function inOrder(id, items, valueOf) {
	const {column, isTurned} = sorted[id];
	if (column < 0)
		return items;
	const compare = (a, b) => typeof a === "number" ? b - a : a.localeCompare(b);
	const list = items.slice().sort((a, b) => compare(valueOf(a)[column], valueOf(b)[column]));
	return isTurned ? list.reverse() : list;
}

function isShown(rule) {
	return filter === "" || rule === filter;
}

function showFilter() {
	const names = ["", ...last.rules.map((one) => one.rule).sort()];
	const options = [...at("filter").options].map((option) => option.value);
	if (JSON.stringify(names) === JSON.stringify(options))
		return;
	at("filter").replaceChildren(...names.map((name) => {
		const option = make("option", name || "all");
		option.value = name;
		option.selected = name === filter;
		return option;
	}));
	filter = at("filter").value;
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

function spansOf(rule, name) {
	const its = histories.get(rule.rule);
	return its ? its[name] : [];
}

// Of one counter, since the answer before; at first, of the minute before this one.
function perSecond(rule, name, column) {
	const old = before && before.rules.find((other) => other.rule === rule.rule);
	if (old && last.now > before.now && rule[name] >= old[name])
		return (rule[name] - old[name]) * 1000 / (last.now - before.now);
	const minute = spansOf(rule, "minutes").slice(-2)[0];
	return minute ? minute[column] / 60 : 0;
}

// The first of the spans without a pause up to now in which there were denials; the current one may have none yet.
function deniedSince(rule) {
	const spans = spansOf(rule, history);
	let i = spans.length - 1;
	if (i >= 0 && spans[i][2] === 0)
		i--;
	if (i < 0 || spans[i][2] === 0)
		return "not now";
	while (i > 0 && spans[i - 1][2] > 0)
		i--;
	return i === 0 ? "before " + clock(spans[0][0]) : clock(spans[i][0]);
}

// Bars of what `of` says of each span, in a scale whose highest is `most`, above or below the line.
function bars(picture, spans, of, most, className, isAbove) {
	const step = 240 / spans.length;
	spans.forEach((one, i) => {
		if (of(one) === 0)
			return;
		const height = Math.max(1, of(one) / most * 22);
		picture.append(draw("rect", {class: className, x: i * step, width: Math.max(1, step - 1),
			y: isAbove ? 24 - height : 24, height}));
	});
}

// What bans and a full table denied, of what was denied in the spans; nothing where only limits did.
function causes(spans) {
	const sum = (column) => spans.reduce((all, one) => all + one[column], 0);
	const told = [[sum(3), "by bans"], [sum(4), "for a full table"]].filter(([count]) => count > 0);
	return told.map(([count, why]) => `; ${count.toLocaleString("en")} denied ${why}`).join("");
}

function sparkline(rule) {
	const spans = spansOf(rule, history);
	const picture = draw("svg", {viewBox: "0 0 240 48", role: "img", preserveAspectRatio: "none"});
	const most = (column) => Math.max(0, ...spans.map((one) => one[column])).toLocaleString("en");
	const unit = history === "minutes" ? "a minute" : "in a quarter of an hour";
	const title = draw("title", {});
	title.textContent = `At most ${most(1)} allowed and ${most(2)} denied ${unit}; denied since: ${deniedSince(rule)}${causes(spans)}`;
	picture.append(title);
	const [allowed, denied] = [1, 2].map((column) => Math.max(1, ...spans.map((one) => one[column])));
	bars(picture, spans, (one) => one[1], allowed, "allowed", true);
	bars(picture, spans, (one) => one[2], denied, "denied", false);
	bars(picture, spans, (one) => one[3] + one[4], denied, "cause", false);
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

const ruleHeads = [["rule"], ["limits, and what each denied"], ["allowed /s", "n"], ["denied /s", "n"], ["denied since"], ["history"]];

function showRules() {
	at("rules-caption").textContent = "Rules, the one with the most denials in the last hour first"
		+ (last.rule_count > last.rules.length ? `; ${last.rules.length} of ${last.rule_count} are shown` : "");
	heads("rules", ruleHeads, showRules);
	const rules = inOrder("rules", last.rules.filter((one) => isShown(one.rule)), (rule) => [rule.rule, rule.denied,
		perSecond(rule, "allowed", 1), perSecond(rule, "denied", 2), deniedSince(rule), rule.denied]);
	fill("rules-body", rules.map((rule) => row(rule.rule,
		cell("limits", limits(rule)),
		cell("allowed /s", rate(perSecond(rule, "allowed", 1)), "n"),
		cell("denied /s", rate(perSecond(rule, "denied", 2)), "n"),
		cell("denied since", deniedSince(rule)),
		cell("history", sparkline(rule)))), ruleHeads.length, "No rule is defined.");
}

function isDenied(entry) {
	return entry.state === "limited" || entry.state === "banned";
}

// What is in flight comes back when somebody gives it back: nobody knows when.
function comesBack(entry) {
	if (!isDenied(entry))
		return entry.state === "open" ? "now" : "not known";
	return entry.retry < 0 ? "never" : entry.retry === 0 ? "not known" : "in " + span(entry.retry);
}

const keyHeads = [["key"], ["rule"], ["now"], ["denied /s", "n"], ["denied since"], ["denied last"], ["may come back"], ["limit", "n"]];

// Who is denied now comes first, and of these who is denied most often.
function byUrgency(a, b) {
	return isDenied(b) - isDenied(a) || b.rate - a.rate || b.last - a.last;
}

function showKeys() {
	const words = {limited: "limited", banned: "banned", open: "open again", unknown: "not known"};
	const time = (ms) => new Date(ms).toLocaleTimeString([], {hour12: false});
	heads("keys", keyHeads, showKeys);
	const keys = inOrder("keys", last.keys.filter((entry) => isShown(entry.rule)).reverse().sort(byUrgency), (entry) =>
		[entry.key, entry.rule, words[entry.state], entry.rate, entry.since, entry.last, entry.retry, entry.limit]);
	fill("keys", keys.map((entry) => row(entry.key,
		cell("rule", entry.rule),
		cell("now", words[entry.state], entry.state),
		cell("denied /s", entry.rate > 0 ? rate(entry.rate) : entry.state === "unknown" ? "not known" : "-", "n"),
		cell("denied since", time(entry.since)),
		cell("denied last", time(entry.last)),
		cell("may come back", comesBack(entry)),
		cell("limit", entry.state === "banned" ? "" : String(entry.limit), "n"))), keyHeads.length,
		last.no_events ? "The segment keeps no events: 'rlctl list --limited' shows who is limited." : "Nobody was denied.");
}

function showBans() {
	at("bans-caption").textContent = "Bans and exemptions in force"
		+ (last.bans_more ? `; the first ${last.bans.length} are shown, 'rlctl bans' has all` : "");
	fill("bans", last.bans.filter((ban) => ban.rule === "" || isShown(ban.rule)).map((ban) => row(ban.key,
		cell("kind", ban.exemption ? "exempt" : "banned", ban.exemption ? "" : "banned"),
		cell("rule", ban.rule || "all"),
		cell("until", ban.until < 0 ? "no end" : "in " + span(ban.until - last.now)))), 4, "None.");
}

function showOverrides() {
	at("h-overrides").parentElement.hidden = last.overrides.length === 0;
	at("overrides-caption").textContent = "Keys with another limit for a time"
		+ (last.overrides_more ? `; the first ${last.overrides.length} are shown, 'rlctl overrides' has all` : "");
	fill("overrides", last.overrides.filter((one) => isShown(one.rule)).map((one) => row(one.key,
		cell("limit", String(one.capacity), "n"),
		cell("rule", one.limit > 1 ? `${one.rule}(${one.limit})` : one.rule),
		cell("until", "in " + span(one.until - last.now)))), 4, "None.");
}

function percentOf(area) {
	return area.room > 0 ? Math.floor(area.used * 100 / area.room) : 0;
}

// What is not well stands above all, and the rest is folded while nothing is nearly full.
function showHealth() {
	const lines = (list) => list.map((line) =>
		make("li", ({ok: "OK: ", note: "Note: ", warn: "Warning: "})[line.level] + line.text, line.level));
	const isBad = last.areas.some((area) => percentOf(area) > FULL_PERCENT);
	at("warnings").replaceChildren(...lines(last.health.filter((line) => line.level === "warn")));
	at("health").replaceChildren(...lines(last.health));
	if (isBad && !wasBad)
		at("more").open = true;
	wasBad = isBad;
	fill("areas", last.areas.map((area) => row(area.name,
		cell("used", area.used.toLocaleString("en"), "n"),
		cell("room", area.room.toLocaleString("en"), "n"),
		cell("share", percentOf(area) + " %", "n"))), 4, "");
}

// Spoken by a screen reader when it changes, and so without the time.
function tell(text, isBad) {
	if (at("state").textContent !== text)
		at("state").textContent = text;
	at("state").className = isBad ? "warn" : "";
}

function summary() {
	const warnings = last.health.filter((line) => line.level === "warn").length;
	const limited = last.keys.filter(isDenied).length;
	const unknown = last.keys.filter((entry) => entry.state === "unknown").length;
	return (warnings === 0 ? "No warning" : warnings === 1 ? "1 warning" : warnings + " warnings")
		+ "; of the keys denied last, " + (limited === 0 ? "none is" : limited === 1 ? "1 is" : limited + " are") + " limited now"
		+ (unknown === 0 ? "." : `, and of ${unknown} it is not known.`);
}

function show() {
	document.title = "rl: " + last.segment;
	at("segment").textContent = last.segment;
	at("when").textContent = `rld ${last.version}, as of ${new Date(last.now).toLocaleString([], {hour12: false})}`;
	tell(summary(), last.health.some((line) => line.level === "warn"));
	showFilter();
	showHealth();
	showKeys();
	showRules();
	showBans();
	showOverrides();
}

// Its minutes and quarters, of each rule that has them in this answer.
function takeHistory(page) {
	for (const rule of page.rules)
		if (rule.minutes)
			histories.set(rule.rule, {minutes: rule.minutes, quarters: rule.quarters});
}

async function poll() {
	try {
		const wantsHistory = Date.now() - historyAt >= HISTORY_MS;
		const answer = await fetch("/status.json" + (wantsHistory ? "?history=*" : ""), {cache: "no-store"});
		if (!answer.ok)
			throw new Error("status " + answer.status);
		const page = await answer.json();
		takeHistory(page);
		if (wantsHistory)
			historyAt = Date.now();
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

at("filter").addEventListener("change", () => {
	filter = at("filter").value;
	show();
});
at("hour").addEventListener("click", () => choose("minutes"));
at("day").addEventListener("click", () => choose("quarters"));
at("pause").addEventListener("click", () => {
	isPaused = !isPaused;
	at("pause").setAttribute("aria-pressed", String(isPaused));
	at("pause").textContent = isPaused ? "Go on" : "Pause";
});
run();
