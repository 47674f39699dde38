/** Items in one bulk create. */
export const BULK_MAX = 100;
