// The page's one script: forms without reloading, live regions, lines to remark on, keys. Reading works without it.
"use strict";
(() => {
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const SCRIPT = {"X-Postil-Script": "1"};
  // What hides in text or turns it around, spelled: the server does it for all that it writes.
  const hiding = /(?![\t\n\r\u200c\u200d\ufe0e\ufe0f])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
  const spell = (text) => text.replace(hiding, (char) => "[U+" + char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "]");
  const isTyping = (node) => node && /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName);

  // -- saying something ------------------------------------------------------------------------------------------------
  // What can be undone is told until something else is: nobody has to be quick.
  const say = (text, isFault = false, undo = "") => {
    if (!text) return;
    const row = document.createElement("p");
    row.textContent = spell(text);
    if (isFault) row.className = "fault";
    const says = one("#says");
    if (isFault && one("form", says)) says.prepend(row); else says.replaceChildren(row);
    if (!undo) { setTimeout(() => row.remove(), isFault ? 20000 : 6000); return; }
    const form = document.createElement("form"), button = document.createElement("button");
    Object.assign(form, {method: "post", action: undo}).append(document.importNode(one("#form-token").content, true), button);
    Object.assign(button, {textContent: "Undo", title: "Undo (z)"});
    says.append(form);
  };

  // -- times in the reader's zone --------------------------------------------------------------------------------------
  const format = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "short"});
  const showTimes = (from) => all("time[datetime]", from).forEach((node) => {
    const moment = new Date(node.dateTime);
    if (!isNaN(moment)) { node.title = node.dateTime; node.textContent = format.format(moment); }
  });

  // -- putting a new version of a region in the place of the old one, node by node -------------------------------------
  // What is typed, focused, unfolded or selected stays, since the nodes stay.
  // Of a form that has a field named id, `.id` is that field.
  const idOf = (node) => (node.nodeType === 1 && node.getAttribute("id")) || "";
  const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && idOf(a) === idOf(b);
  // An edit stays one of the text that the person began with, until they were told of another.
  const isTyped = (area) => area.value !== area.defaultValue;
  const holdsTyped = (node) => node.nodeType === 1 && all("textarea", node).some((area) => isTyped(area) && area.value.trim());
  const isHeld = (form) => form.dataset.told === undefined && (all("textarea, input:not([type=hidden])", form).some(isTyped) || form.contains(document.activeElement));
  const morph = (from, to) => {
    if (from.nodeType !== 1) { if (from.data !== to.data) from.data = to.data; return; }
    if (from.dataset.held !== undefined) { if (isHeld(from.form)) return; delete from.form.dataset.told; }
    if (from.hasAttribute("data-loaded") && to.hasAttribute("data-lazy")) { from.dataset.stale = ""; return; }
    if (from.nodeName === "TIME" && from.dateTime === to.dateTime) return;
    const isOpen = from.nodeName === "DETAILS" && from.open;
    for (const {name, value} of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    for (const {name} of [...from.attributes])
      if (!to.hasAttribute(name) && !/^(data-(loaded|stale|here|touched|told|sending|read)|aria-selected|style)$/.test(name)) from.removeAttribute(name);
    if (from.nodeName === "DETAILS") from.open = from.dataset.touched === undefined ? to.open : isOpen;
    if (from.nodeName === "TEXTAREA") {
      if (from.value === from.defaultValue && from !== document.activeElement) from.value = to.defaultValue;
      from.defaultValue = to.defaultValue;
      return;
    }
    if (from.dataset.read !== undefined) return;
    morphChildren(from, to);
  };
  // What stood elsewhere in the region keeps its nodes too: a conversation moves with what is typed in it.
  let known = new Map();
  const morphRegion = (from, to) => {
    const focused = document.activeElement, range = isTyping(focused) && "selectionStart" in focused && [focused.selectionStart, focused.selectionEnd];
    known = new Map(all("[id]", from).map((node) => [idOf(node), node]));
    morph(from, to);
    known = new Map();
    if (focused && focused !== document.activeElement && focused.isConnected && from.contains(focused)) {
      focused.focus({preventScroll: true});
      if (range && range[0] !== null) focused.setSelectionRange(...range);
    }
  };
  const takeKnown = (node, into) => {
    const old = known.get(idOf(node));
    if (!old || old.nodeName !== node.nodeName || old.contains(into)) return null;
    known.delete(idOf(node));
    return old;
  };
  const adopt = (fresh) => {
    if (fresh.nodeType === 1) for (const node of all("[id]", fresh)) {
      const old = fresh.contains(node) && takeKnown(node, fresh);
      if (old) { node.replaceWith(old); morph(old, node); }
    }
    return fresh;
  };
  const morphChildren = (from, to) => {
    const byId = new Map();
    for (const child of from.children) if (idOf(child)) byId.set(idOf(child), child);
    const wanted = new Set([...to.children].map(idOf).filter(Boolean));
    let at = from.firstChild;
    const skipKept = () => { while (at && at.nodeType === 1 && at.hasAttribute("data-keep")) at = at.nextSibling; };
    for (const next of [...to.childNodes]) {
      skipKept();
      let match = null;
      const id = idOf(next);
      if (id) { match = byId.get(id) || takeKnown(next, from); known.delete(id); }
      else if (at && sameKind(at, next) && !wanted.has(idOf(at))) match = at;
      if (match && match.nodeName !== next.nodeName) match = null;
      if (!match) { from.insertBefore(adopt(document.importNode(next, true)), at); continue; }
      if (match === at) at = at.nextSibling; else from.insertBefore(match, at);
      morph(match, next);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      if (!(gone.nodeType === 1 && (gone.hasAttribute("data-keep") || holdsTyped(gone) || gone.contains(document.activeElement) && isTyping(document.activeElement) && document.activeElement.value))) gone.remove();
    }
  };
  const settle = (from) => {
    showTimes(from);
    all("[data-keep][data-after]").forEach((row) => {
      const line = document.getElementById(row.dataset.after);
      if (line && line.nextSibling !== row && line.parentNode) line.after(row);
    });
    all("[data-lazy]", from).forEach(later);
  };

  const read = async (address) => {
    const answer = await fetch(address, {headers: SCRIPT, credentials: "same-origin"});
    const text = await answer.text();
    if (!answer.ok) throw Object.assign(new Error(text), {status: answer.status});
    return new DOMParser().parseFromString(text, "text/html");
  };

  // -- regions that follow what happens --------------------------------------------------------------------------------
  const asking = new Map();
  const refresh = (region) => {
    const id = region.id, address = region.dataset.src || location.href.split("#")[0];
    const before = asking.get(id);
    if (before) { before.again = true; return before.done; }
    const state = {again: false};
    asking.set(id, state);
    const readAgain = async () => {
      do {
        state.again = false;
        let made;
        try { made = await read(address); } catch (fault) { if (state.again) continue; throw fault; }
        const next = made.getElementById(id), now = document.getElementById(id);
        if (next && now) { morphRegion(now, next); settle(now); }
      } while (state.again);
      readStale();
    };
    // What was told once is not told again: a server that was busy or away is asked again.
    state.done = (async () => {
      for (let tries = 0; ; tries++) {
        try { await readAgain(); break; } catch (fault) {
          if (tries < 4 && !(fault.status < 429)) { await new Promise((go) => setTimeout(go, 500 << tries)); continue; }
          if (fault.message && !/fetch/i.test(fault.message)) say(fault.message, true);
          break;
        }
      }
      asking.delete(id);
    })();
    return state.done;
  };
  const regions = () => all("[data-live]");
  const subjects = () => [...new Set(regions().flatMap((region) => region.dataset.live.split(" ")))].sort();
  let stream = null, hadStream = false;
  const connect = () => {
    const of = subjects();
    if (!of.length || stream) return;
    stream = new EventSource("/live?of=" + encodeURIComponent(of.join(" ")));
    const state = one("#live-state");
    stream.addEventListener("ready", () => {
      if (state) { state.dataset.state = "on"; state.title = "This page follows what happens"; }
      document.documentElement.dataset.live = "on";
      if (hadStream) regions().forEach(refresh);
      hadStream = true;
    });
    stream.addEventListener("changed", (event) => {
      const changed = new Set(event.data.split(" "));
      regions().filter((region) => region.dataset.live.split(" ").some((each) => changed.has(each))).forEach(refresh);
    });
    stream.addEventListener("ended", () => { stream.close(); location.reload(); });
    stream.onerror = () => {
      if (state) { state.dataset.state = "off"; state.title = "The server is away; trying again"; }
      delete document.documentElement.dataset.live;
      if (stream.readyState !== EventSource.CLOSED) return;
      const address = stream.url;
      stream = null;
      fetch(address, {headers: SCRIPT, credentials: "same-origin"}).then(async (answer) => {  // refused: a script may ask why
        if (answer.ok) { setTimeout(connect, 2000); return; }
        if (state) state.title = await answer.text();
        say(state ? state.title : "", true);
        setTimeout(connect, 15000);
      }, () => setTimeout(connect, 2000));
    };
  };

  // -- parts that come when they are scrolled to -----------------------------------------------------------------------
  let wanted = [], asked = false;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const node = entry.target;
      node.toggleAttribute("data-here", entry.isIntersecting);
      if (entry.isIntersecting && one("details", node).open && (node.hasAttribute("data-lazy") || node.hasAttribute("data-stale"))) want(node);
    }
  }, {rootMargin: "800px 0px"});
  const want = (node) => {
    if (!wanted.includes(node)) wanted.push(node);
    if (!asked) { asked = true; requestAnimationFrame(readWanted); }
  };
  const readStale = () => all("[data-stale][data-here]").forEach(want);
  const readWanted = async () => {
    asked = false;
    while (wanted.length) {
      const batch = wanted.splice(0, 12).filter((node) => node.isConnected && (node.hasAttribute("data-lazy") || node.hasAttribute("data-stale")));
      if (!batch.length) continue;
      const address = new URL(batch[0].dataset.src, location.href);
      address.searchParams.delete("f");
      batch.forEach((node) => address.searchParams.append("f", node.dataset.file));
      batch.forEach((node) => { node.removeAttribute("data-stale"); });
      try {
        const made = await read(address);
        for (const node of batch) {
          const next = made.getElementById(node.id);
          if (!next) continue;
          if (node.hasAttribute("data-lazy")) {
            const fresh = document.importNode(next, true);
            fresh.dataset.loaded = "";
            one("details", fresh).open = one("details", node).open;
            node.replaceWith(fresh);
            seen.observe(fresh);
            settle(fresh);
          } else { next.dataset.loaded = ""; morphRegion(node, next); settle(node); }
        }
      } catch (fault) { say(fault.message, true); }
      goToHash();
    }
  };
  const later = (node) => {
    if (node.dataset.lines && one("details", node).open && !node.style.minHeight) node.style.minHeight = Number(node.dataset.lines) * 1.35 + "em";
    seen.observe(node);
  };
  const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  let hashDone = false;
  const goToHash = () => {
    if (hashDone || !location.hash) return;
    const id = location.hash.slice(1);
    const target = document.getElementById(id) || document.getElementById(decode(id));
    if (target) { hashDone = true; target.scrollIntoView({block: "center"}); select(target); return; }
    const file = all("section.file[data-lazy]").find((node) => id.startsWith(node.id));
    if (file) { file.scrollIntoView(); want(file); }
  };

  // -- forms -----------------------------------------------------------------------------------------------------------
  // A form that goes away takes no more keys; one that stays keeps what is typed in it meanwhile.
  const send = async (form, button) => {
    if (form.dataset.sending) return;
    form.dataset.sending = "1";
    const kept = form.closest("[data-keep]"), areas = all("textarea", form), sent = areas.map((area) => area.value);
    const hold = (held) => { if (kept) areas.forEach((area) => { area.readOnly = held; }); };
    hold(true);
    if (kept && kept.contains(document.activeElement)) current?.focus({preventScroll: true});
    const giveBack = (text) => { say(text, true); hold(false); if (kept && (document.activeElement === current || document.activeElement === document.body)) areas[0].focus(); };
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.append(button.name, button.value);
    try {
      const answer = await fetch(form.action, {method: "POST", body: fields, headers: SCRIPT, credentials: "same-origin"});
      const text = await answer.text();
      if (answer.status === 409) { form.dataset.told = ""; regions().filter((region) => region.contains(form)).forEach(refresh); }
      if (!answer.ok) { giveBack(text); return; }
      const isUndo = !!form.closest("#says");
      say(text, false, answer.headers.get("X-Postil-Undo") || "");
      if (isUndo) (current?.isConnected ? current : one("#content")).focus({preventScroll: true});
      const since = areas.map((area, at) => area.value === sent[at] ? "" : !area.defaultValue && area.value.startsWith(sent[at]) ? area.value.slice(sent[at].length) : area.value);
      if (kept) { forget(kept); kept.remove(); } else { form.reset(); areas.forEach((area, at) => { area.value = since[at] || area.defaultValue; }); }
      const act = form.closest("details.act");
      if (act) { act.open = false; act.closest("[data-stop]")?.focus({preventScroll: true}); }
      if (form.dataset.go !== undefined) { location.href = answer.headers.get("X-Postil-Address") || location.href; return; }
      const region = form.closest("[data-live]") || one("main [data-live]");
      if (region) { all("[data-loaded]", region).forEach((node) => { node.dataset.stale = ""; }); refresh(region); } else location.reload();
    } catch (fault) {
      giveBack("The server is away: what you typed is still here.");
    } finally { delete form.dataset.sending; }
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("data-plain")) return;
    event.preventDefault();
    send(form, event.submitter);
  });
  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (details.nodeName !== "DETAILS") return;
    const lazy = details.parentNode.closest?.("section[data-lazy]");
    if (lazy && details.open && details.dataset.touched !== undefined) want(lazy); else if (lazy && !details.open) lazy.style.minHeight = "";
    const area = details.open && one("textarea", details);
    if (area && details.matches(".suggest")) { area.disabled = false; if (!area.value) area.value = details.dataset.code || ""; }
    if (area && document.activeElement === one("summary", details)) area.focus();
    const place = details.open && one("[data-once]", details);
    if (place) read(place.dataset.once).then((made) => {
      place.dataset.read = "";
      place.replaceChildren(...[...made.body.childNodes].map((node) => document.importNode(node, true)));
      showTimes(place);
    }, (fault) => say(fault.message, true));
  }, true);

  // -- lines to remark on ----------------------------------------------------------------------------------------------
  const stops = () => all("table.diff tr[id]:not(.said-row), [data-stop]").filter((node) => node.offsetParent);
  let current = null, from = null;
  const select = (node, extend = false) => {
    if (!node) return;
    if (!extend) from = node;
    all("[aria-selected]").forEach((each) => each.removeAttribute("aria-selected"));
    current = node;
    for (const each of range()) each.setAttribute("aria-selected", "true");
    node.tabIndex = -1;
    node.focus({preventScroll: true});
    node.scrollIntoView({block: "nearest"});
  };
  const range = () => {
    if (!current) return [];
    const table = current.closest("table.diff");
    if (!table || !from || from.closest("table.diff") !== table) return [current];
    const rows = all("tr[id]", table), a = rows.indexOf(from), b = rows.indexOf(current);
    return a < 0 || b < 0 ? [current] : rows.slice(Math.min(a, b), Math.max(a, b) + 1);
  };
  const forget = (row) => { try { sessionStorage.removeItem("remark " + (row.dataset.draft || row.dataset.after)); } catch {} };
  // In a file with its comments: the form for a new one, under the chosen line.
  const writeHere = () => {
    const last = range().filter((row) => row.matches("table.source tr[id^=L]")).pop(), model = one("#new form");
    if (!last || !model) return false;
    const next = last.nextElementSibling;
    if (next && next.hasAttribute("data-keep")) { one("textarea", next).focus(); return true; }
    const row = document.createElement("tr"), cell = document.createElement("td"), cancel = document.createElement("button");
    row.dataset.keep = ""; row.dataset.after = last.id; row.className = "form-row";
    cell.colSpan = 2;
    const form = document.importNode(model, true), text = form.elements.text;
    form.elements.line.value = last.id.slice(1);
    const name = "remark " + (row.dataset.draft = form.elements.file.value + ":" + last.id);
    cancel.type = "button"; cancel.dataset.cancel = ""; cancel.textContent = "Cancel";
    try { text.value = sessionStorage.getItem(name) || ""; } catch {}
    text.addEventListener("input", () => { try { sessionStorage.setItem(name, text.value); } catch {} });
    form.append(" ", cancel); cell.append(form); row.append(cell); last.after(row);
    text.focus();
    return true;
  };
  const openForm = (side) => {
    if (writeHere()) return;
    const rows = range().filter((row) => row.matches("table.diff tr[id]"));
    const template = one("#remark-form");
    if (!rows.length || !template) return;
    const last = rows[rows.length - 1];
    const isOld = side ? side === "L" : rows.every((row) => !row.dataset.r);
    const numbers = rows.map((row) => Number(isOld ? row.dataset.o : row.dataset.r)).filter(Boolean);
    if (!numbers.length) return;
    const next = last.nextElementSibling;
    if (next && next.hasAttribute("data-keep")) { one("textarea", next).focus(); return; }
    const file = last.closest("section.file").dataset.file, low = Math.min(...numbers), high = Math.max(...numbers);
    const line = low === high ? String(low) : low + "-" + high;
    const row = document.createElement("tr"), cell = document.createElement("td");
    row.dataset.keep = ""; row.dataset.after = last.id; row.className = "form-row";
    cell.colSpan = last.closest(".split") ? 4 : 3;
    const form = document.importNode(one("form", template.content), true);
    form.elements.file.value = file; form.elements.line.value = line; form.elements.side.value = isOld ? "L" : "R";
    form.elements.version.value = one("#changes").dataset.version || "";
    one(".about", form).textContent = spell(file) + ":" + line + (isOld ? " (removed)" : "");
    const code = rows.filter((each) => isOld ? each.dataset.o : each.dataset.r).map((each) => { const cells = all("td.text", each); return cells[isOld ? 0 : cells.length - 1].textContent; });
    one(".suggest", form).dataset.code = code.join("\n");
    if (isOld) one(".suggest", form).remove();
    try { form.elements.comment.value = sessionStorage.getItem("remark " + last.id) || ""; } catch {}
    form.elements.comment.addEventListener("input", () => { try { sessionStorage.setItem("remark " + last.id, form.elements.comment.value); } catch {} });
    cell.append(form); row.append(cell); last.after(row);
    form.elements.comment.focus();
  };
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target.closest("[data-cancel]")) { const row = target.closest("[data-keep]"); forget(row); row.remove(); select(current); return; }
    const folds = target.closest("summary")?.parentNode, area = folds && one("textarea:enabled", folds);
    if (folds) folds.dataset.touched = "";  // and open at once, not when the browser tells of it: whoever clicked may type already
    if (area && !folds.open && area.closest("details") === folds) { event.preventDefault(); folds.open = true; area.focus(); }
    const more = target.closest("[data-more]");
    if (more) {
      event.preventDefault();
      read(more.href).then((made) => {
        const rows = all("table.diff > tr, table.diff > tbody > tr", made), rest = one("[data-more]", made);
        const table = one("table.diff tbody", more.closest("section.file"));
        table.append(...rows.map((row) => document.importNode(row, true)));
        if (rest) more.replaceWith(document.importNode(rest, true)); else more.remove();
      }, (fault) => say(fault.message, true));
    }
  });
  let drags = false, dragSide = "";
  document.addEventListener("mousedown", (event) => {
    const cell = event.target.closest("table.diff td.num"), row = cell && cell.closest("tr[id]");
    if (!row || event.button) return;
    event.preventDefault();
    drags = true;
    dragSide = row.closest(".split") ? (cell.cellIndex === 0 ? "L" : "R") : "";
    select(row, event.shiftKey);
  });
  document.addEventListener("mouseover", (event) => {
    const row = drags && event.target.closest("table.diff tr[id]");
    if (row && row.closest("table") === current.closest("table")) select(row, true);
  });
  document.addEventListener("mouseup", () => { if (drags) { drags = false; openForm(dragSide); } });

  // -- cards of the board ----------------------------------------------------------------------------------------------
  const moveCard = (card, to) => {
    const form = one("form.move", card), select = form && form.elements.to;
    if (!select || ![...select.options].some((option) => option.value === to) || to === form.elements.source.value) return;
    select.value = to;
    send(form);
  };
  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".card[draggable]") || null;
    if (dragged) { event.dataTransfer.setData("text/plain", ""); event.dataTransfer.effectAllowed = "move"; }
  });
  const column = (event) => dragged && event.target.closest?.(".column");
  document.addEventListener("dragover", (event) => {
    const over = column(event);
    all(".column[data-over]").forEach((each) => each !== over && each.removeAttribute("data-over"));
    if (over) { event.preventDefault(); over.dataset.over = ""; }
  });
  document.addEventListener("drop", (event) => {
    const over = column(event);
    all(".column[data-over]").forEach((each) => each.removeAttribute("data-over"));
    if (over) { event.preventDefault(); moveCard(dragged, over.dataset.column); }
    dragged = null;
  });
  const shove = (by) => {
    const card = current?.closest(".card"), columns = all(".column");
    const next = card && columns[columns.indexOf(card.closest(".column")) + by];
    if (next) moveCard(card, next.dataset.column);
  };

  // -- keys ------------------------------------------------------------------------------------------------------------
  const step = (list, by, extend) => {
    let at = list.indexOf(current);
    if (at < 0) { at = list.findIndex((node) => node.getBoundingClientRect().bottom > 80); at = at < 0 ? 0 : at - (by > 0 ? 1 : 0); }
    select(list[Math.max(0, Math.min(list.length - 1, at + by))], extend);
  };
  const press = (key, again = true) => {
    const said = current && current.nextElementSibling;
    const near = current && (current.matches("[data-stop]") ? current : current.closest("section.file") || (said && said.matches(".said-row") ? said : null));
    const found = (near && all(`[data-key="${key}"]`, near).find((node) => node.offsetParent)) || one(`main [data-key="${key}"]:not([data-stop] *):not(section.file *)`);
    if (!found && again && asking.size) {  // what is read just now may bring it
      const at = current, reading = [...asking.values()].map((each) => each.done);
      Promise.all(reading).then(() => at === current && !isTyping(document.activeElement) && press(key, false));
    }
    if (!found) return false;
    found.click();
    if (found.nodeName === "SUMMARY") one("textarea", found.parentNode)?.focus();
    return true;
  };
  const turnTheme = () => {
    const now = document.body.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.body.dataset.theme = next;
    one("meta[name=color-scheme]").content = next;
    document.cookie = `postil-theme=${next}; path=/; max-age=31536000; samesite=strict`;
  };
  const showHelp = async () => {
    const old = one("#help"); if (old) { old.close(); return; }
    const made = (await read("/help")).getElementById("keys");
    const dialog = Object.assign(document.createElement("dialog"), {id: "help", tabIndex: 0});  // it may have to be scrolled
    dialog.append(document.importNode(made, true));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  let leader = false; document.addEventListener("keydown", (event) => { const key = event.key;
    if (key === "Enter" && (event.ctrlKey || event.metaKey) && isTyping(document.activeElement)) {
      const form = document.activeElement.form; if (form && form.method === "post") { event.preventDefault(); form.requestSubmit(one("button.primary", form)); }
      return;
    }
    if (key === "Escape" && isTyping(document.activeElement)) { document.activeElement.blur(); select(current); return; }
    if (isTyping(document.activeElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const shift = event.shiftKey, low = key.toLowerCase();
    let did = true;
    if (leader) { leader = false; const go = one(`[data-go="${low}"]`); if (go) go.click(); }
    else if (key === "?") showHelp();
    else if (low === "g") leader = true;
    else if (low === "j" || key === "ArrowDown" && current) step(stops(), 1, shift);
    else if (low === "k" || key === "ArrowUp" && current) step(stops(), -1, shift);
    else if (low === "n" || low === "p") step(all("section.file"), low === "n" ? 1 : -1);
    else if (low === "c") openForm("");
    else if (low === "a" && writeHere()) did = true;
    else if (key === "<" || key === ">") shove(key === ">" ? 1 : -1);
    else if (low === "t") turnTheme();
    else if (low === "z") one("#says button")?.click();
    else if (low === "o") { const details = current && one("details", current.closest("section.file") || current); if (details) { details.dataset.touched = ""; details.open = !details.open; } }
    else did = /^[a-z1-9]$/.test(low) && press(low);
    if (did) event.preventDefault();
  });

  // -- the beginning ---------------------------------------------------------------------------------------------------
  const theme = one("#theme");
  if (theme) { theme.hidden = false; theme.addEventListener("click", turnTheme); }
  one("#help-link")?.addEventListener("click", (event) => { event.preventDefault(); showHelp(); });
  all("section.file:not([data-lazy])").forEach((node) => { node.dataset.loaded = ""; seen.observe(node); });
  settle(document);
  connect();
  goToHash();
  addEventListener("hashchange", () => { hashDone = false; goToHash(); });
  addEventListener("beforeunload", (event) => { if (all("textarea").some((area) => isTyped(area) && area.value.trim() && !area.closest("[data-keep]"))) event.preventDefault(); });
  document.documentElement.dataset.ready = "1";
})();
