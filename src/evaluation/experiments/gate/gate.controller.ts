import { Body, Controller, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Request } from 'express';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { Reply, RequestBody, RequestSignal, SELECTION_MAX_BYTES } from '#platform/http';
import type { Page } from '#platform/paging';
import { GateDto, GateResultDto, type KeptGateDto, KeptGateListQueryDto, KeptGatePageDto } from './gate.dto';
import { GATE_MEDIA, type GateMedia, toJUnit, toMarkdown } from './gate-report';
import { GateService } from './gate.service';

const TEXT = { schema: { type: 'string' } };

@ApiTags('Comparison')
@ApiExtraModels(GateResultDto)
@Controller('eval/v1/experiments/:experiment_id')
@RequireWorkspace()
export class GateController {
  constructor(private readonly gates: GateService) {}

  /** Check an experiment against rules, for CI */
  @Post('gate')
  @HttpCode(200)
  @RequireRole('viewer')
  @RequestBody({ limit: SELECTION_MAX_BYTES })
  @ApiResponse({
    status: 200,
    description:
      'The result as JSON, or as JUnit XML or Markdown according to `Accept`. A failed gate also returns 200: read `passed`.',
    headers: { Vary: { description: '`Accept`.', schema: { type: 'string' } } },
    content: Object.fromEntries(
      GATE_MEDIA.map((media) => [
        media,
        media === 'application/json' ? { schema: { $ref: getSchemaPath(GateResultDto) } } : TEXT,
      ]),
    ),
  })
  async check(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Body() dto: GateDto,
    @Req() request: Request,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    return format(await this.gates.check(scope, experimentId, dto, signal), mediaOf(request));
  }

  /**
   * List the gate checks of an experiment, newest first
   *
   * @remarks The newest 1,000 checks are kept, with their rules, their result, the time and who made them.
   */
  @Get('gates')
  @RequireRole('viewer')
  @ApiOkResponse({ type: KeptGatePageDto })
  list(
    @CurrentScope() scope: Scope,
    @Param('experiment_id') experimentId: string,
    @Query() query: KeptGateListQueryDto,
  ): Promise<Page<KeptGateDto>> {
    return this.gates.list(scope, experimentId, query);
  }
}

/** Returns the media type that the client prefers (RFC 9110, section 12.5.1), or JSON if it accepts none. */
const mediaOf = (request: Request): GateMedia =>
  (request.accepts([...GATE_MEDIA]) || GATE_MEDIA[0]) as GateMedia;

function format(result: GateResultDto, media: GateMedia): Reply {
  const vary = { Vary: 'Accept' };
  if (media === 'application/json') return new Reply(200, result, vary);
  const text = media === 'text/markdown' ? toMarkdown(result) : toJUnit(result);
  return new Reply(200, Buffer.from(text), { ...vary, 'Content-Type': `${media}; charset=utf-8` });
}
