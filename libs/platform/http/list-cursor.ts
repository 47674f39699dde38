import { createHash } from 'node:crypto';
import { toJsonText } from '#platform/json';
import { problem } from '#platform/problem';
import { Reply } from './reply';
import { routeOf, type ServiceRequest } from './request-context';

/** Separates a cursor from the digest of its list. Cursors themselves have no such character. */
const MARK = '~';

/** Parameters that do not change the list. The cursor itself contains the sort. */
const OTHERS = new Set(['cursor', 'limit', 'offset', 'total', 'sort']);

/**
 * Throws 400 for a cursor of another list, or of this list with other filters, because its position and its total would be
 * wrong. The list checks the sort.
 */
export function checkCursor(request: ServiceRequest): void {
  const { cursor } = request.query;
  if (isCursor(cursor) && !belongsTo(request, cursor)) throw problem.invalidQuery('cursor', FOREIGN);
  const { cursor: own } = bodyOf(request);
  if (isCursor(own) && !belongsTo(request, own)) throw problem.invalidField('/cursor', FOREIGN);
}

const FOREIGN = 'must be the next_cursor of the previous page, unchanged and with the same filters';

/** Validation rejects cursors that are not strings. */
const isCursor = (cursor: unknown): cursor is string => typeof cursor === 'string' && cursor !== '';

const belongsTo = (request: ServiceRequest, cursor: string): boolean => cursor.endsWith(markOf(request));

/** Adds the digest of a list to the cursors of its page. */
export function bindCursor(request: ServiceRequest, result: unknown): void {
  const body = (result instanceof Reply ? result.body : result) as ListBody | null | undefined;
  const page = body?.page ?? body?.cases?.page;
  if (typeof page?.next_cursor === 'string') page.next_cursor += markOf(request);
  const metadata = body?.metadata;
  if (typeof metadata?.nextCursor === 'string') metadata.nextCursor += markOf(request);
}

/** The places of a cursor: in a list, in a comparison, and in a list of the MCP registry's format. */
interface ListBody {
  page?: { next_cursor?: unknown };
  cases?: { page?: { next_cursor?: unknown } };
  metadata?: { nextCursor?: unknown };
}

/** Returns the mark of a list: a digest of its operation, its object and its filters. */
function markOf(request: ServiceRequest): string {
  const { user, context, params } = request;
  const filters = [request.query, bodyOf(request)].map((values) =>
    Object.entries(values)
      .filter(([name, value]) => !OTHERS.has(name) && value !== null)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  const list = [user?.orgId, context.workspaceId, routeOf(request), params, filters];
  return MARK + createHash('sha256').update(toJsonText(list)).digest('base64url').slice(0, 12);
}

/** Returns the body of a search. */
const bodyOf = ({ method, body }: ServiceRequest): Readonly<Record<string, unknown>> =>
  method === 'POST' && typeof body === 'object' && body !== null && !Buffer.isBuffer(body) ? body : {};
