// Characters that are not seen, or that change the order of what is seen, in texts from the server.

/**
 * Controls other than tabs and ends of lines, and characters that are drawn as nothing: zero-width ones, fillers, tags, the
 * overrides and isolates of the writing direction. Joiners and variation selectors belong to the character before them in other
 * scripts and in emoji.
 */
const UNSEEN = /(?![\t\n\r]|(?<=[^\0-\x7f\p{DI}]\ufe0f?)[\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{DI}\u2028\u2029\ufff9-\ufffb]/gu;

/** The text with such characters as their numbers: a name must not look like another one. */
export function visible(text) {
  return text.replace(UNSEEN, (each) => `⟨U+${each.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
