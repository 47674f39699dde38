import type { ServiceRequest } from '#platform/http';

/** The prefix of a path parameter that is the name of a resource instead of its id. */
export const NAME_PREFIX = 'name:';

/** Finds resources that paths name. The resource kit implements it. */
export abstract class PathNames {
  /** The parameters of paths that take a name. */
  abstract readonly parameters: ReadonlySet<string>;

  /**
   * Replaces names in the parameters of an admitted request by ids. A name that no resource has stays in a form that no id
   * has, so that the handler responds with its ordinary 404.
   */
  abstract resolve(request: ServiceRequest): Promise<void>;
}
