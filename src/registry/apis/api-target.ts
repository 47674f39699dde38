import { API_METHODS, type ApiMethod } from './api.entity';

/** Returns methods in their stored order. Leaves out unknown ones, which return 422 later. */
export const storedMethods = (methods: readonly string[] | null | undefined): ApiMethod[] =>
  API_METHODS.filter((method) => methods == null || methods.includes(method));
