import type { CallToolResult } from '@modelcontextprotocol/server';
import { logFailure } from '#platform/http';
import { toJsonText } from '#platform/json';
import { Problem, problemOfDatabaseError } from '#platform/problem';
import { ProtocolError, ProtocolErrorCode } from '../protocol-error';
import type { Caller } from '../sessions/caller';
import { type Arguments, ToolReply } from './tool';

/** Returns a result as structured content, and the same JSON as text for clients that read only text. */
export function toolResult(result: object): CallToolResult {
  const { view, media, isError } = result instanceof ToolReply ? result : new ToolReply(result, [], false);
  const text = toJsonText(view);
  return {
    content: [{ type: 'text', text }, ...media],
    structuredContent: JSON.parse(text) as Record<string, unknown>,
    ...(isError && { isError }),
  };
}

/**
 * Returns an error as the result of a tool, so that the model can read it and correct its call. The result has no
 * structured content, because clients would validate it against the output schema. A failure of a registered server is
 * not shown as a failure of this service.
 */
export function toolError(problem: Problem, args: Arguments): CallToolResult {
  const { title, status, detail, code, errors } = problem.toBody(null);
  const heading = problem.isUpstream ? '' : `${title} (${code}): `;
  const more = (errors ?? [])
    .slice(1)
    .map((one) => `\n- ${'pointer' in one ? one.pointer : one.parameter}: ${one.detail}`);
  return {
    content: [{ type: 'text', text: `${heading}${detail}${more.join('')}${hintOf(code, args)}` }],
    isError: true,
    _meta: { problem: { title, status, code, detail, ...(errors && { errors }) } },
  };
}

/** Returns a hint if an argument is not an id, because models often pass names instead. */
function hintOf(code: string, args: Arguments): string {
  if (code !== 'not_found') return '';
  const [member] = Object.entries(args).find(([name, value]) => name.endsWith('_id') && !isId(value)) ?? [];
  return member === undefined
    ? ''
    : ` ${member} must be an id that a list or search tool returned, not a name.`;
}

const isId = (value: unknown): boolean => typeof value === 'string' && /^[a-z]+_[0-9a-z]{26}$/.test(value);

/** Returns the problem of an error that a tool threw. Logs errors that are not the caller's. */
export function problemOf(error: unknown, { requestId }: Caller, toolName: string): Problem {
  const problem =
    error instanceof Problem
      ? error
      : (problemOfDatabaseError(error) ??
        new Problem('internal_error', 'Internal error. Quote the request id when you report it.', {
          cause: error,
        }));
  logFailure(problem, { request_id: requestId, tool: toolName }, 'a tool failed');
  return problem;
}

/** The maximum length of a URI in an error, in characters. */
const URI_MAX = 4_096;

/**
 * Turns the errors of a method other than `tools/call` into protocol errors.
 *
 * @param uri the URI that the error for a 404 names, by which clients recognize it since 2026-07-28
 */
export async function withProtocolErrors<Result>(
  caller: Caller,
  method: string,
  work: () => Promise<Result>,
  uri?: string,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, status, detail } = problemOf(error, caller, method);
    if (code === 'not_found' && uri !== undefined) {
      const data = { uri: uri.slice(0, URI_MAX) };
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found.', data);
    }
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    throw new ProtocolError(status < 500 ? InvalidParams : InternalError, detail);
  }
}
