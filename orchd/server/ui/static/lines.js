// JSON values from a stream, one per line.

import {heard} from './connection.js';

/** The longest line that is accepted, in characters. */
const MOST = 16 << 20;

/**
 * The values of a response as they arrive.
 * @param {Response} response
 * @returns {AsyncGenerator<Object>}
 */
export async function* jsonLines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      heard();
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      if (rest.length > MOST) throw new Error('a line of the stream is too long');
      for (const line of lines) if (line) yield JSON.parse(line);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
