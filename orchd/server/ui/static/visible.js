// Characters that are not seen, or that change the order of what is seen, in texts from the server.

/** Controls, zero-width characters, and the overrides and isolates of the writing direction. */
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The text with such characters as their numbers: a name must not look like another one. */
export function visible(text) {
  UNSEEN.lastIndex = 0;
  return UNSEEN.test(text) ? text.replace(UNSEEN, (each) => `⟨U+${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`) : text;
}
