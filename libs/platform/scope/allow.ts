/** The areas of the API that a key can be limited to. */
export const AREAS = ['read', 'telemetry', 'models', 'apis', 'tools', 'scores'] as const;

export type Area = (typeof AREAS)[number];

/**
 * The limits of a key that is narrower than its account, as stored: resources by id, so that new names change nothing.
 * A list that is null includes everything in its area.
 */
export interface Allow {
  /** Includes the areas that the other members imply. Never empty. */
  readonly areas: readonly Area[];
  /** Ids of models. */
  readonly models: readonly string[] | null;
  /** Ids of registered APIs. */
  readonly apis: readonly string[] | null;
  /** Tools of MCP servers, as `toolKey` returns them. */
  readonly tools: readonly string[] | null;
  /** The agent whose declared tools are allowed. With `tools`, only those in both. */
  readonly agent_id: string | null;
}

/** Returns the key of a tool in `Allow`. An id has no slash. */
export const toolKey = (serverId: string, toolName: string): string => `${serverId}/${toolName}`;
