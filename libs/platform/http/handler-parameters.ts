import type { ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';

/** `RouteParamtypes` of Nest: what the keys of its metadata of a handler's parameters begin with. */
const KINDS = { body: 3, query: 4 } as const;

/** Whether a handler has a parameter that is the body (`@Body()`), or the query (`@Query()`). */
export function takes(context: ExecutionContext, kind: keyof typeof KINDS): boolean {
  const parameters = Reflect.getMetadata(
    ROUTE_ARGS_METADATA,
    context.getClass(),
    context.getHandler().name,
  ) as object | undefined;
  return Object.keys(parameters ?? {}).some((key) => key.startsWith(`${KINDS[kind]}:`));
}
