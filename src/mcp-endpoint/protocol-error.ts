/** The JSON-RPC error codes of the endpoint. */
export const ProtocolErrorCode = { InvalidParams: -32602, InternalError: -32603 } as const;

/**
 * A JSON-RPC error. It does not extend the SDK's class, because the SDK sends the `code` of any error that is thrown.
 * Processes that serve no MCP requests therefore do not load the SDK, which takes 27 MiB.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';

  constructor(
    readonly code: (typeof ProtocolErrorCode)[keyof typeof ProtocolErrorCode],
    message: string,
    readonly data?: object,
  ) {
    super(message);
  }
}
