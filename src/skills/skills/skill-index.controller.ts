import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { RequestSignal } from '#platform/http';
import { SkillIndexDto, SkillIndexQueryDto } from './skill-index.dto';
import { SkillService } from './skill.service';

@ApiTags('Skills')
@Controller('skill/v1/index.json')
export class SkillIndexController {
  constructor(private readonly skills: SkillService) {}

  /**
   * Get the discovery index of the skills that you may read
   *
   * @remarks In the format of Agent Skills Discovery 0.2.0, with the newest version of each skill that is not archived. 400 for more than 1,000 skills.
   */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: SkillIndexDto })
  get(
    @CurrentScope() scope: OrgScope,
    @Query() { workspace_id }: SkillIndexQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<SkillIndexDto> {
    return this.skills.index(scope, workspace_id, signal);
  }
}
