// A stand-in for the editor's extension, under Node: it reads, shows and writes comment files as that does.
// editor.mjs show|save|move|add|verify SOURCE [LINE [END]]: answers JSON on standard output.
// editor.mjs hold SOURCE: keeps the file in memory; each line of standard input is a command (`add LINE [END]`, `verify`,
// `move LINE`, `save`), made on what it holds and written over whatever the file says by then.
import {createHash, randomUUID} from "node:crypto";
import {readFileSync, writeFileSync, existsSync} from "node:fs";
import {createInterface} from "node:readline";

let [, , act, source, line, end] = process.argv;
let lines = readFileSync(source, "utf8").split("\n");
const sidecar = source + ".comments";
const trimmed = (number) => (lines[number - 1] ?? "").trim();
const hash = (text) => createHash("sha256").update(text || "[blank line]").digest("hex").slice(0, 16);

// What its validator demands of a file; whatever else there is stays.
const validate = (data) => {
  const wants = (thing, kinds) => { for (const [key, kind] of Object.entries(kinds)) if (typeof thing[key] !== kind) throw new Error(`${key} is no ${kind}`); };
  wants(data, {file: "string", version: "string"});
  if (!Array.isArray(data.comments)) throw new Error("no comments");
  data.comments.forEach((each) => wants(each, {id: "string", line: "number", text: "string", author: "string", created: "string", updated: "string"}));
  (data.ghostMarkers ?? []).forEach((each) => {
    wants(each, {id: "string", line: "number", lineHash: "string", lineText: "string", prevLineText: "string", nextLineText: "string", lastVerified: "string"});
    if (!Array.isArray(each.commentIds)) throw new Error("commentIds is no list");
  });
  return data;
};

// The line on which a definition's first decorator begins; each may have several lines.
const decorated = (start) => {
  let closed = 0;
  for (let at = start - 1; at >= 1; at--) {
    closed += (trimmed(at).match(/[)}]/g) ?? []).length - (trimmed(at).match(/[({]/g) ?? []).length;
    if (closed < 0 || (closed === 0 && !/^(@|\/\/)/.test(trimmed(at)))) break;
    if (closed === 0 && trimmed(at).startsWith("@")) start = at;
  }
  return start;
};

// The symbols of the editor: decorators belong to what they stand above, comments do not.
const symbols = () => {
  const found = [], open = [];
  let depth = 0;
  lines.forEach((text, at) => {
    const holder = open.at(-1);
    const named = /^\s*(?:export\s+)?class\s+(\w+)/.exec(text) || /^\s*(?:export\s+)?(?:async\s+)?function\s+(\w+)/.exec(text)
      || (holder?.kind === "Class" && depth === holder.depth + 1 && /^\s+(?:@\w+(?:\([^)]*\))?\s+)*(?:async\s+)?(\w+)\([^)]*\)[^{;]*\{/.exec(text));
    if (named) {
      const start = decorated(at + 1);
      const kind = /\bclass\b/.test(text) ? "Class" : holder?.kind === "Class" ? "Method" : "Function";
      const one = {path: [...(holder?.path ?? []), named[1]], kind, start, end: 0, depth};
      found.push(one); open.push(one);
    }
    depth += (text.match(/\{/g) ?? []).length - (text.match(/\}/g) ?? []).length;
    while (open.length && depth <= open.at(-1).depth && at + 1 > open.at(-1).start) open.pop().end = at + 1;
  });
  return found;
};
const anchorAt = (number) => {
  const inner = symbols().filter((each) => each.start <= number && number <= each.end).at(-1);
  return inner ? {symbolPath: inner.path, symbolKind: inner.kind, containerName: inner.path.at(-2) ?? null, offset: number - inner.start} : null;
};
const describe = (number) => ({
  line: number, astAnchor: anchorAt(number), lineHash: hash(trimmed(number)), lineText: trimmed(number),
  prevLineText: trimmed(number - 1), nextLineText: trimmed(number + 1), lastVerified: new Date().toISOString(),
});

// Where it shows a marker: by its symbol and the offset in it, without a look at the text; else by the texts.
const find = (marker) => {
  if (marker.astAnchor) {
    const same = symbols().filter((each) => each.path.join("\n").endsWith(marker.astAnchor.symbolPath.join("\n")));
    return same.length === 1 ? same[0].start + marker.astAnchor.offset : 0;
  }
  if (hash(trimmed(marker.line)) === marker.lineHash) return marker.line;
  for (let by = 1; by <= 10; by++) for (const at of [marker.line - by, marker.line + by])
    if (trimmed(at) === marker.lineText && trimmed(at - 1) === marker.prevLineText && trimmed(at + 1) === marker.nextLineText) return at;
  return 0;
};

const data = existsSync(sidecar) ? validate(JSON.parse(readFileSync(sidecar, "utf8"))) : {file: source, version: "2.1.0", ghostMarkers: [], comments: []};
const save = () => writeFileSync(sidecar, JSON.stringify(data, null, 2));
const answers = {
  show: () => Object.fromEntries(data.ghostMarkers.flatMap((marker) => marker.commentIds.map((id) => {
    const comment = data.comments.find((each) => each.id === id), at = find(marker);
    return [comment.text, {line: at, end: marker.endLine ? at + marker.endLine - marker.line : 0, comment: comment.line, text: trimmed(at)}];
  }))),
  save: () => { save(); return {}; },
  move: () => {  // a person drags the first marker to another line
    Object.assign(data.ghostMarkers[0], describe(Number(line)));
    save();
    return {};
  },
  // It verifies its markers: those that it finds are tied to whatever stands there, and written with the next save.
  verify: () => {
    for (const marker of data.ghostMarkers) {
      const at = find(marker);
      if (at) Object.assign(marker, describe(at), {astAnchor: marker.astAnchor ? {...marker.astAnchor, offset: at - (at - marker.astAnchor.offset)} : null});
    }
    save();
    return {};
  },
  add: () => {
    const id = randomUUID(), now = new Date().toISOString(), marker = {id: "gm-" + id.slice(0, 18), commentIds: [id], ...describe(Number(line))};
    if (end) marker.endLine = Number(end);
    data.ghostMarkers.push(marker);
    data.comments.push({id, line: Number(line), text: `editor ${line}`, author: "ed", created: now, updated: now, startLine: Number(line), ...(end ? {endLine: Number(end)} : {}), ghostMarkerId: marker.id, tag: null});
    data.comments.sort((a, b) => a.line - b.line);
    save();
    return {id};
  },
};
if (act === "hold") {
  console.log(JSON.stringify({held: data.comments.length}));
  for await (const row of createInterface({input: process.stdin})) {
    [act, line, end] = row.split(" ");
    lines = readFileSync(source, "utf8").split("\n");
    console.log(JSON.stringify(answers[act]()));
  }
} else console.log(JSON.stringify(answers[act]()));
