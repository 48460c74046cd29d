// Durations for people, as command lines show them.

/** The time since an RFC 3339 moment: 45s, 12m, 3h20m, 5d. */
export function age(moment, now = Date.now()) {
  const seconds = Math.max(0, Math.floor((now - Date.parse(moment)) / 1000));
  if (Number.isNaN(seconds)) return '';
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
  return `${days}d`;
}
