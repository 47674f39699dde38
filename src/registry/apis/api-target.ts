import { API_METHODS, type ApiMethod } from './api.entity';

/** Returns methods as they are stored. Unknown ones, which are 422, are left out. */
export const storedMethods = (given: readonly string[] | null | undefined): ApiMethod[] =>
  API_METHODS.filter((method) => given == null || given.includes(method));
