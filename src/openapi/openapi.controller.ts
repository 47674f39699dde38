import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import type { CachedDocument } from '#platform/http';
import { OpenApiSource } from './openapi.source';

/** Serves the OpenAPI document of this service. */
@ApiExcludeController()
@Controller()
@Public()
export class OpenApiController {
  constructor(private readonly source: OpenApiSource) {}

  @Get('openapi.json')
  document(): Promise<CachedDocument> {
    return this.source.cachedDocument();
  }
}
