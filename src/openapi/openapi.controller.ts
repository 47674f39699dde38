import { Controller, Get, Query } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '#platform/auth';
import type { CachedDocument } from '#platform/http';
import { OpenApiQueryDto } from './openapi.dto';
import { OpenApiSource } from './openapi.source';

/** Serves the OpenAPI document of this service, and its list of operations. */
@ApiExcludeController()
@Controller()
@Public()
export class OpenApiController {
  constructor(private readonly source: OpenApiSource) {}

  @Get('openapi.json')
  document(@Query() { operation }: OpenApiQueryDto): Promise<CachedDocument> {
    return this.source.cachedDocument(operation);
  }

  @Get('llms.txt')
  list(): Promise<CachedDocument> {
    return this.source.cachedText();
  }
}
