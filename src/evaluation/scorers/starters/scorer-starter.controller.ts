import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { RequireRole, RequireWorkspace } from '#platform/auth';
import type { Page } from '#platform/paging';
import { ScorerStarterDto, ScorerStarterListQueryDto, ScorerStarterPageDto } from './scorer-starter.dto';
import { ScorerStarterService } from './scorer-starter.service';

@ApiTags('Scorers')
@Controller('eval/v1/scorer-starters')
@RequireWorkspace()
export class ScorerStarterController {
  constructor(private readonly starters: ScorerStarterService) {}

  /** List scorer starters */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: ScorerStarterPageDto })
  list(@Query() query: ScorerStarterListQueryDto): Page<ScorerStarterDto> {
    return this.starters.list(query);
  }
}
