import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import { AgreementDto, AgreementQueryDto } from './agreement.dto';
import { AgreementService } from './agreement.service';

@ApiTags('Comparison')
@Controller('eval/v1/scorers/:scorer_id')
@RequireWorkspace()
export class AgreementController {
  constructor(private readonly agreements: AgreementService) {}

  /** Measure the agreement of a scorer with a reference */
  @Get('agreement')
  @RequireRole('viewer')
  @ApiOkResponse({ type: AgreementDto })
  agreement(
    @CurrentScope() scope: Scope,
    @Param('scorer_id') scorerId: string,
    @Query() query: AgreementQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<AgreementDto> {
    return this.agreements.agreement(scope, scorerId, query, signal);
  }
}
