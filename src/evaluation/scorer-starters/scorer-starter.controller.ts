import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { RequireRole, RequireWorkspace } from '#platform/auth';
import type { Page } from '#platform/paging';
import { ScorerStarterDto, ScorerStarterListQueryDto, ScorerStarterPageDto } from './scorer-starter.dto';
import { listStarters } from './scorer-starters';

@ApiTags('Scorers')
@Controller('eval/v1/scorer-starters')
@RequireWorkspace()
export class ScorerStarterController {
  /** List scorer starters */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerStarterPageDto })
  list(@Query() query: ScorerStarterListQueryDto): Page<ScorerStarterDto> {
    return listStarters(query);
  }
}
