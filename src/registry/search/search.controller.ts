import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { RepeatableWithinReach, RequestSignal } from '#platform/http';
import { SearchDto, SearchPageDto } from './search.dto';
import { SearchService } from './search.service';

@ApiTags('Search')
@Controller('registry/v1/search')
export class SearchController {
  constructor(private readonly searches: SearchService) {}

  /** Search by words, by embeddings, or by both */
  @Post()
  @RepeatableWithinReach()
  @HttpCode(200)
  @RequireRoleSomewhere('viewer')
  @ApiOkResponse({ type: SearchPageDto })
  search(
    @CurrentScope() scope: OrgScope,
    @Body() dto: SearchDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<SearchPageDto> {
    return this.searches.search(scope, dto, signal);
  }
}
