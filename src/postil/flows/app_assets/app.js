// The views inside an assistant: JSON-RPC with the host by postMessage, the data of a tool's result shown as text.
"use strict";
(() => {
  const host = window.parent, view = document.body.dataset.view, root = document.getElementById("view");
  const DATA = "postil/app", SOURCE = {conversation: "inbox_list", review: "comments_orphans", board: "git_mile_list", burndown: "git_mile_show"};
  let last = 0, given = {}, tool = SOURCE[view], context = {}, capabilities = {};
  const waiting = new Map();

  // -- talking to the host ---------------------------------------------------------------------------------------------
  const post = (message) => host.postMessage({jsonrpc: "2.0", ...message}, "*");
  const ask = (method, params) => new Promise((done, fail) => { const id = ++last; waiting.set(id, {done, fail}); post({id, method, params}); });
  const tell = (method, params = {}) => post({method, params});
  window.addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== host || !message || message.jsonrpc !== "2.0") return;
    if (message.method === undefined) {
      const one = waiting.get(message.id);
      if (!one) return;
      waiting.delete(message.id);
      if (message.error) one.fail(new Error(String(message.error.message || "The host refused"))); else one.done(message.result || {});
    } else if (message.id !== undefined) {
      const known = message.method === "ping" || message.method === "ui/resource-teardown";
      post(known ? {id: message.id, result: {}} : {id: message.id, error: {code: -32601, message: "Method not found"}});
    } else hear(message.method, message.params || {});
  });
  const hear = (method, params) => {
    if (method === "ui/notifications/tool-input") given = params.arguments || {};
    else if (method === "ui/notifications/tool-result") show(params);
    else if (method === "ui/notifications/tool-cancelled") say("The call was cancelled", true);
    else if (method === "ui/notifications/host-context-changed") setContext(params);
  };
  const setContext = (changed) => {
    context = {...context, ...changed};
    if (context.theme === "light" || context.theme === "dark") document.documentElement.dataset.theme = context.theme;
    const named = context.toolInfo && context.toolInfo.tool && context.toolInfo.tool.name;
    if (named && named !== "check_lazygit_messages") tool = named;
  };
  const textOf = (result) => (result.content || []).filter((block) => block.type === "text").map((block) => block.text).join("\n");
  const call = async (name, args) => {
    const result = await ask("tools/call", {name, arguments: args});
    if (result.isError) throw new Error(textOf(result) || "That did not work");
    return result;
  };

  // -- making nodes: text is only ever text ------------------------------------------------------------------------------
  const make = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== "").map((child) => child instanceof Node ? child : String(child)));
    return node;
  };
  const say = (text, isFault = false) => {
    const says = document.getElementById("says");
    says.textContent = text;
    says.toggleAttribute("data-fault", isFault);
  };
  const button = (words, act, kind) => {
    const made = make("button", {type: "button", class: kind}, words);
    made.addEventListener("click", async () => {
      made.disabled = true;
      try { await act(); } catch (fault) { say(fault.message, true); } finally { made.disabled = false; }
    });
    return made;
  };
  // An act of the person: a tool is called, what it says is shown, and everything is read again. The model is told the
  // tool and the number alone: titles, labels and paths are words of others, and would stand there as the person's.
  const act = async (name, args, told) => {
    const result = await call(name, args);
    say(told);
    if (capabilities.updateModelContext) ask("ui/update-model-context", {content: [{type: "text", text: "The person did this in the view: " + name + " of " + String(args.id ?? args.commentId).replace(/[^\w-]/g, "").slice(0, 40)}]}).catch(() => {});
    await refresh();
    return result;
  };
  const refresh = async () => show(await call(tool, tool === SOURCE[view] || Object.keys(given).length ? given : {}));

  // -- the views -----------------------------------------------------------------------------------------------------------
  const typed = new Map();
  const CLOSED = ["addressed", "declined", "dismissed"];
  const showMessage = (one) => {
    const where = (one.file || one.source || (one.commit ? "commit " + one.commit.slice(0, 12) : "the repository")) + (one.line ? ":" + one.line : "");
    const isClosed = CLOSED.includes(one.state);
    const area = make("textarea", {rows: "2", "aria-label": "Your answer to #" + one.id});
    area.value = typed.get(one.id) || "";
    area.addEventListener("input", () => typed.set(one.id, area.value));
    const reply = async () => {
      if (!area.value.trim()) { area.focus(); return; }
      const words = area.value;
      await call("person_reply", {id: one.id, text: words});
      typed.delete(one.id);
      say("#" + one.id + " answered");
      await refresh();
    };
    return make("article", {class: "card", id: "m" + one.id},
      make("header", {}, make("b", {}, "#" + one.id), " ", make("span", {class: "state"}, one.state), " ", make("span", {class: "quiet"}, where, " ", one.kind || "fix")),
      make("p", {class: "said"}, one.comment),
      one.suggestion === undefined || one.suggestion === null ? null : make("pre", {tabindex: "0", "aria-label": "Suggested"}, one.suggestion),
      (one.replies || []).map((each) => make("div", {class: "reply"}, make("b", {}, each.author), make("p", {class: "said"}, each.text))),
      area,
      make("div", {class: "acts"}, button("Reply", reply, "primary"), isClosed ? null : button("Resolve", () => act("person_resolve", {id: one.id}, "#" + one.id + " resolved"))));
  };
  const views = {
    conversation: (data) => {
      const messages = data.messages || (data.id !== undefined && data.comment !== undefined ? [data] : null);
      if (!messages) return null;
      return [make("h1", {}, "Conversation"), messages.length ? messages.map(showMessage) : make("p", {class: "quiet"}, "No open remarks."),
        data.more ? make("p", {class: "quiet"}, data.more + " more") : null];
    },
    review: (data) => {
      if (!Array.isArray(data.comments)) return null;
      const decide = (one, path, line) => act("move_comment", {commentId: one.id, targetFile: path, targetLine: line}, "The comment belongs to " + path + ":" + line);
      return [make("h1", {}, "Comments in doubt"), data.comments.length ? data.comments.map((one) => make("article", {class: "card", id: "c" + one.id},
        make("header", {}, make("b", {}, one.filePath + ":" + one.line), " ", make("span", {class: "state"}, one.state), " ", make("span", {class: "quiet"}, one.author)),
        make("p", {class: "said"}, one.text), one.reason ? make("p", {class: "quiet"}, one.reason) : null,
        one.oldText ? make("pre", {tabindex: "0", "aria-label": "The code it was about"}, one.oldText) : null,
        (one.candidates || []).slice(0, 9).map((each) => make("div", {class: "reply"}, make("b", {}, each.path + ":" + each.line), each.inside ? " in " + each.inside : "",
          make("pre", {tabindex: "0", "aria-label": "The code there"}, (each.around || []).join("\n") || each.text || ""), button("It belongs here", () => decide(one, each.path, each.line), "primary"))),
        make("div", {class: "acts"}, one.state === "orphaned" ? null : button("It is right where it is", () => decide(one, one.filePath, one.line)),
          button("Delete the comment", () => act("delete_comment", {commentId: one.id, filePath: one.filePath}, "The comment was deleted"))))) : make("p", {class: "quiet"}, "Every comment knows its code.")];
    },
    board: (data) => {
      let columns = data.columns, by = data.by || "status";
      if (!columns && Array.isArray(data.items)) {
        columns = ["open", "closed", ...data.items.map((one) => one.status)].filter((one, at, every) => every.indexOf(one) === at)
          .map((key) => ({key, head: key, cards: data.items.filter((one) => one.status === key).map((one) => ({...one, facts: [one.claimed_by && "claimed by " + one.claimed_by, ...(one.labels || [])].filter(Boolean).join(", ")}))}));
      }
      if (!columns) return null;
      const move = (card, column, to) => data.columns ? act("issue_move", {id: card.id, to, by, ...(by === "label" ? {source: column.key} : {})}, card.title + ": " + to)
        : act("git_mile_update", {id: card.id, status: to}, card.title + ": " + to);
      return [make("h1", {}, "Board"), make("div", {class: "board", tabindex: "0"}, columns.map((column) => make("section", {class: "column", "data-column": column.key, "aria-label": column.head},
        make("h2", {}, column.head, " ", make("span", {class: "quiet"}, column.total === undefined ? column.cards.length : column.total)),
        column.cards.map((card) => {
          const choose = make("select", {"aria-label": "Column of " + card.title}, columns.map((each) => make("option", {value: each.key}, each.head)));
          choose.value = column.key;
          choose.addEventListener("change", () => move(card, column, choose.value).catch((fault) => { choose.value = column.key; say(fault.message, true); }));
          return make("article", {class: "card", "data-id": card.id}, make("b", {}, card.title), card.facts ? make("p", {class: "quiet"}, card.facts) : null, choose);
        }), column.cards.length ? null : make("p", {class: "quiet"}, "Nothing here"))))];
    },
    burndown: (data) => {
      if (data.title === undefined) return null;
      const stats = data.stats || {}, days = data.days;
      const counts = stats.open_issues === undefined ? null : make("p", {}, stats.closed_issues + " of " + (stats.open_issues + stats.closed_issues) + " issues closed");
      const parts = [make("h1", {}, data.title), make("p", {class: "quiet"}, [data.kind, data.status, data.due && "due " + data.due].filter(Boolean).join(", ")), counts];
      if (Array.isArray(days)) parts.push(drawDays(days));
      else if (data.kind === "milestone") {
        const place = make("div", {});
        parts.push(place);
        ask("resources/read", {uri: "milestone://" + encodeURIComponent(data.id) + "/burndown.svg"}).then((read) => {
          const found = (read.contents || [])[0] || {};
          if (found.text) place.replaceChildren(make("img", {class: "chart", alt: "Burn-down of " + data.title, src: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(found.text)}));
        }, () => {});
      }
      if (data.description) parts.push(make("p", {class: "said"}, data.description));
      if (data.status) parts.push(make("div", {class: "acts"}, data.status === "closed" ? button("Reopen", () => act("git_mile_close", {id: data.id, reopen: true}, data.title + " reopened")) : button("Close", () => act("git_mile_close", {id: data.id}, data.title + " closed"))));
      return parts;
    },
  };
  const drawDays = (days) => {
    const space = "http://www.w3.org/2000/svg", most = Math.max(1, ...days.map((one) => one.open + one.closed)), svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 400 120");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "Open issues by day");
    svg.setAttribute("class", "chart");
    const line = document.createElementNS(space, "polyline");
    line.setAttribute("points", days.map((one, at) => (days.length < 2 ? 200 : at * 400 / (days.length - 1)).toFixed(1) + "," + (115 - 110 * one.open / most).toFixed(1)).join(" "));
    line.setAttribute("fill", "none");
    line.setAttribute("stroke", "#1f6f5c");
    line.setAttribute("stroke-width", "2");
    svg.append(line);
    const now = days[days.length - 1];
    return make("figure", {}, svg, make("figcaption", {class: "quiet"}, now ? now.open + " open, " + now.closed + " closed on " + now.day : "No issues yet"));
  };
  const show = (result) => {
    const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
    const data = (result._meta && result._meta[DATA]) || result.structuredContent;
    const nodes = (!result.isError && data && views[view](data)) || [make("pre", {tabindex: "0", "aria-label": "The answer"}, textOf(result) || "Nothing to show")];
    root.replaceChildren(...nodes.flat(9).filter(Boolean));
    if (focused) [...root.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === focused)?.focus();
  };

  // -- beginning -----------------------------------------------------------------------------------------------------------
  new ResizeObserver(() => tell("ui/notifications/size-changed", {width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height)})).observe(document.body);
  ask("ui/initialize", {protocolVersion: "2026-01-26", appInfo: {name: "postil-" + view, version: "1"}, appCapabilities: {availableDisplayModes: ["inline", "fullscreen"]}}).then((result) => {
    capabilities = result.hostCapabilities || {};
    setContext(result.hostContext || {});
    tell("ui/notifications/initialized");
  }, (fault) => say(fault.message, true));
})();
