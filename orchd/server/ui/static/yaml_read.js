// JSON values of YAML: blocks, flow collections, quoted, literal and folded texts, comments. What manifests do not use
// (anchors, tags, several documents, complex keys) is refused with the number of its line.

import {isFlow, readFlow} from './yaml_flow.js';
import {plainValue} from './yaml_scalars.js';

const DEEPEST = 100;

/** A text that is no YAML, or one that this reader refuses. */
export class YamlError extends Error {
  constructor(message, line) {
    super(`line ${line + 1}: ${message}`);
    this.line = line;
  }
}

/** The value of a document. Raises YamlError. */
export function fromYaml(text) {
  const reader = new Reader(text);
  reader.start();
  const value = reader.next() === null ? null : reader.node(0, 0);
  if (reader.next() !== null) reader.fail('this belongs to nothing above: check the indentation');
  return value;
}

class Reader {
  constructor(text) {
    this.lines = text.replace(/\r\n?/g, '\n').split('\n');
    this.at = 0;
  }

  fail(message, line = this.at) {
    throw new YamlError(message, Math.min(line, this.lines.length - 1));
  }

  start() {
    const first = this.lines.findIndex((line) => !/^\s*(#.*)?$/.test(line));
    if (first >= 0 && /^---\s*(#.*)?$/.test(this.lines[first])) this.at = first + 1;
  }

  /** Indentation of the next line with content; null at the end. */
  next() {
    for (; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at];
      if (/^\s*(#.*)?$/.test(line)) continue;
      if (/^ *\t/.test(line)) this.fail('a tab in the indentation');
      if (/^(---|\.\.\.)(\s|$)/.test(line)) {
        if (line.startsWith('...') || this.lines.slice(this.at + 1).every((each) => /^\s*(#.*)?$/.test(each))) return null;
        this.fail('a second document');
      }
      return line.length - line.trimStart().length;
    }
    return null;
  }

  /** The value that begins at the next line, which is indented by at least `least`. */
  node(least, depth) {
    if (depth > DEEPEST) this.fail('nested too deeply');
    const indent = this.next();
    if (indent === null || indent < least) return null;
    const text = this.lines[this.at].slice(indent);
    if (/^-(\s|$)/.test(text)) return this.sequence(indent, depth);
    if (keyOf(text)) return this.mapping(indent, depth);
    if (/^[|>]/.test(text)) return this.block(text.trim(), least - 1);
    return this.inline(text, indent, indent, depth);
  }

  sequence(indent, depth) {
    const found = [];
    while (this.next() === indent && /^-(\s|$)/.test(this.lines[this.at].slice(indent))) {
      const rest = this.lines[this.at].slice(indent + 1);
      if (/^\s*(#.*)?$/.test(rest)) {
        this.at++;
        found.push(this.node(indent + 1, depth + 1));
      } else if (/^\s*[|>]/.test(rest)) found.push(this.block(rest.trim(), indent));
      else {
        // What follows the dash is a node at its own column.
        this.lines[this.at] = `${' '.repeat(indent + 1)}${rest}`;
        found.push(this.node(indent + 1, depth + 1));
      }
    }
    const after = this.next();
    if (after !== null && after > indent) this.fail('the indentation fits nothing above');
    return found;
  }

  mapping(indent, depth) {
    const found = {};
    for (;;) {
      const here = this.next();
      if (here === null || here < indent) return found;
      const text = this.lines[this.at].slice(indent);
      const key = here === indent ? keyOf(text) : null;
      if (key === null) {
        if (here === indent && /^-(\s|$)/.test(text)) return found;
        this.fail(here > indent ? 'the indentation fits nothing above' : 'a key and a colon are expected');
      }
      if (Object.hasOwn(found, key.name)) this.fail(`the key ${JSON.stringify(key.name)} is there twice`);
      Object.defineProperty(found, key.name, {value: this.member(key.rest, indent, depth), enumerable: true, configurable: true, writable: true});
    }
  }

  /** The value after a key: on the same line, or below. */
  member(rest, indent, depth) {
    const text = rest.trim();
    if (text === '' || text.startsWith('#')) {
      this.at++;
      const next = this.next();
      if (next === indent && /^-(\s|$)/.test(this.lines[this.at].slice(indent))) return this.sequence(indent, depth + 1);
      return this.node(indent + 1, depth + 1);
    }
    if (/^[|>]/.test(text)) return this.block(text, indent);
    return this.inline(text, indent, indent + 1, depth);
  }

  /** A scalar or flow collection; `least` is the indentation of its further lines. */
  inline(text, indent, least, depth) {
    if (/^[&*!%@`]/.test(text)) this.fail(`${text[0]} (an anchor, alias, tag or reserved sign) is not supported here; quote the text`);
    if (/^\?(\s|$)/.test(text)) this.fail('complex keys are not supported here');
    const line = this.at++;
    if (isFlow(text)) {
      let all = text;
      for (;;) {
        const found = readFlow(all, depth, (message) => this.fail(message, line));
        if (found) return found.value;
        if (this.at >= this.lines.length) this.fail('a quote or bracket is not closed', line);
        all += `\n${this.lines[this.at++]}`;
      }
    }
    let all = plainText(text);
    // Further lines of a plain text.
    for (let next = this.next(); next !== null && next >= least && least > 0 && all !== ''; next = this.next()) {
      const more = this.lines[this.at].slice(next);
      if (keyOf(more) || /^-(\s|$)/.test(more)) break;
      if (this.at !== line + 1 && this.lines.slice(line + 1, this.at).some((each) => each.trim())) break;
      all += ` ${plainText(more)}`;
      this.at++;
    }
    if (/: /.test(all)) this.fail('a colon in a text: quote the text', line);
    return plainValue(all, (message) => this.fail(message, line));
  }

  /** A literal (|) or folded (>) text. */
  block(head, parent) {
    const match = /^([|>])([-+]?)([1-9]?)([-+]?)\s*(#.*)?$/.exec(head);
    if (!match) this.fail('what follows | or > is not understood');
    const chomp = match[2] || match[4];
    this.at++;
    let indent = match[3] ? Math.max(parent, 0) + Number(match[3]) : null;
    const found = [];
    for (; this.at < this.lines.length; this.at++) {
      const text = this.lines[this.at];
      const own = text.length - text.trimStart().length;
      if (text.trim() === '' && (indent === null || text.length <= indent)) {
        found.push('');
        continue;
      }
      if (indent === null && own > parent) indent = own;
      if (indent === null || own < indent) break;
      if (/^ *\t/.test(text.slice(0, indent))) this.fail('a tab in the indentation');
      found.push(text.slice(indent));
    }
    let end = found.length;
    while (end && found[end - 1] === '') end--;
    const kept = found.slice(0, end);
    const text = match[1] === '|' ? kept.join('\n') : folded(kept);
    if (chomp === '-' || !kept.length) return chomp === '+' ? '\n'.repeat(found.length) : text;
    return chomp === '+' ? `${text}\n${'\n'.repeat(found.length - end)}` : `${text}\n`;
  }
}

/** Lines of a folded text: single line breaks are spaces, but for indented lines. */
function folded(lines) {
  let out = '';
  lines.forEach((line, at) => {
    if (at === 0) out = line;
    else if (line === '') out += '\n';
    else if (/^[ \t]/.test(line) || /^[ \t]/.test(lines[at - 1])) out += `\n${line}`;
    else out += lines[at - 1] === '' ? line : ` ${line}`;
  });
  return out;
}

/** A plain text without its comment. */
function plainText(text) {
  return text.replace(/\s#.*$/, '').trim();
}

/** The key at the start of a text, and what follows its colon; null without one. */
function keyOf(text) {
  if (text[0] === '"' || text[0] === "'") {
    const found = readFlow(text, 0, () => null, true);
    if (!found) return null;
    const match = /^\s*:(\s.*|)$/.exec(found.rest);
    return match && {name: String(found.value), rest: match[1]};
  }
  if (/^[[{&*!|>%@`?#-]/.test(text) && !/^[-?][^\s]/.test(text)) return null;
  const match = /^((?:[^:#]|:(?=\S)|(?<=\S)#)*?)\s*:(\s.*|)$/.exec(text);
  return match && match[1] !== '' ? {name: match[1], rest: match[2]} : null;
}
