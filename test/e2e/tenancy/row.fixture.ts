import type { Ids } from './population';

/** The requests that try an operation on another tenant's data. */
export interface Row {
  /**
   * The bodies to send, each of which refers to the tenant's data in a different way. If the path contains the tenant's ids
   * or workspace, a body only has to be valid.
   */
  bodies?: (theirs: Ids, own: Ids) => unknown[];
  /** Queries that refer to the tenant's data. */
  queries?: (theirs: Ids) => string[];
  /** Media type of the bodies. Default: JSON. */
  type?: string;
  /**
   * Who may see the data: members of the workspace (the default), everyone in the organization, platform principals, or
   * anyone (`own`), because it is public or the caller's own.
   */
  level?: 'workspace' | 'organization' | 'platform' | 'own';
  /** Whether the response has totals of the organization, which everyone in it may see change. */
  isTotal?: boolean;
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

/** A deletion, also of what is in use. */
export const FORCED: Row = { queries: () => ['', 'force=true'] };
export const OWN: Row = { level: 'own' };
export const ORGANIZATION: Row = { level: 'organization' };
