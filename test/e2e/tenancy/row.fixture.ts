import type { Ids } from './population';

/** How an operation is tried on what is another tenant's. */
export interface Row {
  /**
   * What it is sent, in turn: each refers to theirs in another way. Where a path names them, or the workspace, a body need
   * only be valid.
   */
  bodies?: (theirs: Ids, own: Ids) => unknown[];
  /** Queries that name them. */
  queries?: (theirs: Ids) => string[];
  /** Media type of the bodies; JSON unless given. */
  type?: string;
  /**
   * Whose it is: something of a workspace (the default), something of all of the organization, which people of its other
   * workspaces may see, or nobody's, such as the caller's own and what is public.
   */
  level?: 'workspace' | 'organization' | 'platform' | 'own';
}

export const inWorkspace =
  (body: object = {}) =>
  (theirs: Ids) => [{ workspace_id: theirs.workspace_id, ...body }];

export const filteredBy =
  (...members: string[]) =>
  (theirs: Ids) => [
    '',
    'limit=0',
    ...members.map((member) => `${member}=${encodeURIComponent(theirs[member] ?? '')}`),
  ];

export const words = (theirs: Ids): string[] => [
  '',
  'limit=0',
  'include_archived=true',
  `q=${theirs.marker}`,
];

export const ofWorkspace =
  (...members: string[]) =>
  (theirs: Ids) => [...words(theirs), ...filteredBy('workspace_id', ...members)(theirs)];

export const NOTHING: Row = {};
export const OWN: Row = { level: 'own' };
export const ORGANIZATION: Row = { level: 'organization' };
