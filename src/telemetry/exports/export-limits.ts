/** What the bodies of a group come to, in bytes: about four thousand spans. */
export const GROUP_BYTES = 4 * 1024 * 1024;

/** Groups that a process commits at once: one is made ready while the database is busy with the other. */
export const GROUPS_AT_ONCE = 2;
