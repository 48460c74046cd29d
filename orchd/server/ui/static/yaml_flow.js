// Flow collections and quoted texts of YAML: [a, b], {a: b}, "text", 'text'. JSON is a part of it.

import {plainValue} from './yaml_scalars.js';

const DEEPEST = 100;
const ESCAPES = {0: '\0', a: '\x07', b: '\b', t: '\t', '\t': '\t', n: '\n', v: '\v', f: '\f', r: '\r', e: '\x1b', ' ': ' ', '"': '"', '/': '/', '\\': '\\', N: '\x85', _: '\xa0', L: '\u2028', P: '\u2029'};
const HEX = {x: 2, u: 4, U: 8};

/** Does a value in this notation begin here? */
export function isFlow(text) {
  return /^["'[{]/.test(text);
}

/** The text ended within a value. */
class Open extends Error {}

/**
 * The value at the start of a text.
 * @param {boolean} [partly]  what follows the value is returned as `rest`; else only a comment may follow
 * @returns {{value: *, rest: string}|null}  null when the text ends within the value
 */
export function readFlow(text, depth, fail, partly = false) {
  const reader = new Flow(text, fail);
  try {
    const value = reader.value(depth);
    const rest = text.slice(reader.at);
    if (!partly && !/^\s*$|^\s+#/.test(rest)) fail('something follows the value');
    return {value, rest};
  } catch (error) {
    if (error instanceof Open) return null;
    throw error;
  }
}

class Flow {
  constructor(text, fail) {
    this.text = text;
    this.at = 0;
    this.fail = (message) => {
      fail(message);
      throw new Open();
    };
  }

  /** The next character; raises Open at the end. */
  peek() {
    if (this.at >= this.text.length) throw new Open();
    return this.text[this.at];
  }

  space() {
    for (;;) {
      const here = this.peek();
      if (/\s/.test(here)) this.at++;
      else if (here === '#' && (this.at === 0 || /\s/.test(this.text[this.at - 1]))) {
        while (this.peek() !== '\n') this.at++;
      } else return here;
    }
  }

  value(depth) {
    if (depth > DEEPEST) this.fail('nested too deeply');
    const here = this.space();
    if (here === '"') return this.double();
    if (here === "'") return this.single();
    if (here === '[') return this.list(depth);
    if (here === '{') return this.map(depth);
    return plainValue(this.plain(), this.fail);
  }

  list(depth) {
    this.at++;
    const found = [];
    while (this.space() !== ']') {
      found.push(this.value(depth + 1));
      if (this.space() === ',') this.at++;
      else if (this.peek() !== ']') this.fail('a comma or ] is expected');
    }
    this.at++;
    return found;
  }

  map(depth) {
    this.at++;
    const found = {};
    while (this.space() !== '}') {
      const start = this.peek();
      const key = start === '"' ? this.double() : start === "'" ? this.single() : this.plain();
      let value = null;
      if (this.space() === ':') {
        this.at++;
        const next = this.space();
        if (next !== ',' && next !== '}') value = this.value(depth + 1);
      }
      if (Object.hasOwn(found, key)) this.fail(`the key ${JSON.stringify(key)} is there twice`);
      Object.defineProperty(found, key, {value, enumerable: true, configurable: true, writable: true});
      if (this.space() === ',') this.at++;
      else if (this.peek() !== '}') this.fail('a comma or } is expected');
    }
    this.at++;
    return found;
  }

  plain() {
    const start = this.at;
    if (/[&*!|>%@`]/.test(this.peek())) this.fail(`${this.peek()} is not supported here; quote the text`);
    for (; this.at < this.text.length; this.at++) {
      const here = this.text[this.at];
      if (/[,[\]{}\n]/.test(here)) break;
      if (here === ':' && (this.at + 1 >= this.text.length || /[\s,[\]{}]/.test(this.text[this.at + 1]))) break;
      if (here === '#' && /\s/.test(this.text[this.at - 1] || '')) break;
    }
    if (this.at === start) this.fail(`${JSON.stringify(this.text[this.at])} is not expected here`);
    return this.text.slice(start, this.at).trim();
  }

  single() {
    let out = '';
    for (this.at++; ; this.at++) {
      if (this.peek() === '\n') this.fold((text) => (out = out.replace(/[ \t]+$/, '') + text));
      else if (this.text[this.at] !== "'") out += this.text[this.at];
      else if (this.text[this.at + 1] === "'") out += this.text[this.at++];
      else break;
    }
    this.at++;
    return out;
  }

  double() {
    let out = '';
    for (this.at++; this.peek() !== '"'; this.at++) {
      const here = this.text[this.at];
      if (here === '\n') this.fold((text) => (out = out.replace(/[ \t]+$/, '') + text));
      else if (here !== '\\') out += here;
      else {
        this.at++;
        out += this.escape();
      }
    }
    this.at++;
    return out;
  }

  escape() {
    const sign = this.peek();
    if (Object.hasOwn(ESCAPES, sign)) return ESCAPES[sign];
    if (sign === '\n') {
      while (/[ \t]/.test(this.text[this.at + 1] || '')) this.at++;
      return '';
    }
    const digits = this.text.slice(this.at + 1, this.at + 1 + (HEX[sign] || 0));
    const code = parseInt(digits, 16);
    if (!HEX[sign] || !new RegExp(`^[0-9a-fA-F]{${HEX[sign]}}$`).test(digits) || code > 0x10ffff) this.fail(`the escape \\${sign} is not known`);
    this.at += HEX[sign];
    return String.fromCodePoint(code);
  }

  /** A line break within quotes: one is a space, further ones are kept. */
  fold(take) {
    let breaks = 0;
    for (; this.at < this.text.length && /\s/.test(this.text[this.at]); this.at++) if (this.text[this.at] === '\n') breaks++;
    this.at--;
    take(breaks > 1 ? '\n'.repeat(breaks - 1) : ' ');
  }
}
