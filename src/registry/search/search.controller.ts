import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { RequestBody, RequestSignal } from '#platform/http';
import { SearchDto, SearchPageDto } from './search.dto';
import { SearchService } from './search.service';

/** Maximum size of a request body, in bytes. It may contain a vector. */
const QUERY_MAX_BYTES = 256 * 1024;

@ApiTags('Search')
@Controller('registry/v1/search')
export class SearchController {
  constructor(private readonly searches: SearchService) {}

  /** Search by keywords, by embeddings, or by both */
  @Post()
  @HttpCode(200)
  @RequireRoleSomewhere('viewer')
  @RequestBody({ limit: QUERY_MAX_BYTES })
  @ApiOkResponse({ type: SearchPageDto })
  search(
    @CurrentScope() scope: OrgScope,
    @Body() dto: SearchDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<SearchPageDto> {
    return this.searches.search(scope, dto, signal);
  }
}
