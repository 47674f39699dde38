import { Problem, problem } from '#platform/problem';

/**
 * Reads a search body as the query of a list. A null member counts as absent, so that `"cursor": page.next_cursor` may be
 * the null of a last page. Errors in the query are reported for the members of the body.
 */
export async function searchAsList<Body extends object, Result>(
  body: Body,
  list: (query: Body) => Promise<Result>,
): Promise<Result> {
  const query = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as Body;
  try {
    return await list(query);
  } catch (error) {
    throw error instanceof Problem && error.code === 'invalid_query' ? asBodyProblem(error) : error;
  }
}

const asBodyProblem = ({ errors = [] }: Problem): Problem =>
  problem.invalidFields(
    errors.map((one) => ('parameter' in one ? { pointer: `/${one.parameter}`, detail: one.detail } : one)),
  );
