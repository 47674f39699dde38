import { ApiExtension } from '@nestjs/swagger';

/** How the OpenAPI document is told, which does not show it. */
export const BODIES_EXTENSION = 'x-bodies';

/** On a route whose body has another schema in each of several media types: the schema of each. */
export const ApiBodies = (schemas: Record<string, object>): MethodDecorator =>
  ApiExtension(BODIES_EXTENSION, schemas);
