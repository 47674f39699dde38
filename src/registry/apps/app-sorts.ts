import { BY_CHANGE } from '#platform/paging';

/** Sorts of the list of apps, which have a slug in place of a name. */
export const APP_SORTS = {
  ...BY_CHANGE,
  app: { expression: 'app', type: 'text' },
} as const;
