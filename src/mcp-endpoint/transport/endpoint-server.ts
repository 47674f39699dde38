import { type JSONRPCRequest, type Result, Server, type ServerContext } from '@modelcontextprotocol/server';
import { isJsonObject } from '#platform/json';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';

/** The revisions that the endpoint serves, newest first. */
export const PROTOCOL_VERSIONS = [
  '2026-07-28',
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
] as const;

/** The maximum number of faults in an error. */
const FAULTS_MAX = 5;

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/* oxlint-disable typescript/no-deprecated -- the SDK deprecates it only for simple servers */
/** The SDK's server, which describes invalid parameters in a sentence instead of the JSON of the SDK's validator. */
export class EndpointServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
        const faults = parameterFaults(error);
        if (faults === null) throw error;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params for ${method}: ${faults}.`);
      }
    };
  }
}
/* oxlint-enable typescript/no-deprecated */

/** Returns the faults in the message of the SDK's validator, or null for another error. */
function parameterFaults(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof ProtocolError) return null;
  const [json] = /\[\s*\{[^]*$/.exec(error.message) ?? [];
  if (json === undefined) return null;
  try {
    const issues: unknown = JSON.parse(json);
    if (!Array.isArray(issues)) return null;
    const faults = issues.filter(isJsonObject).slice(0, FAULTS_MAX).map(describe);
    return faults.length === 0 ? null : faults.join('; ');
  } catch {
    return null;
  }
}

function describe({ path, message }: Record<string, unknown>): string {
  const place = Array.isArray(path) ? path.filter((step) => step !== 'params').join('.') : '';
  const fault = String(message).replace(/^Invalid input: /, '');
  return place === '' ? fault : `${place}: ${fault}`;
}
