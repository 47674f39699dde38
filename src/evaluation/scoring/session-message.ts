/** One message of a session, as a scorer sees it. */
export interface SessionMessage {
  role: string;
  content: unknown;
  /** Calls of tools, as its maker wrote them. */
  tool_calls?: unknown;
  /** Of a message of a tool: which call it answers. */
  tool_call_id?: string;
  /** Of a message of a tool: which. */
  name?: string;
  trace_id?: string | null;
  created_at?: Date;
}
