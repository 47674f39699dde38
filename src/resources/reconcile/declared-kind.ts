/** The kinds of resources that an app can declare, in the order of a reconcile: later kinds refer to earlier ones. */
export const DECLARED_KINDS = ['file', 'api', 'mcp_server', 'skill', 'agent'] as const;
export type DeclaredKind = (typeof DECLARED_KINDS)[number];
