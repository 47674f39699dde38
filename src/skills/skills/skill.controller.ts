import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import {
  created,
  IfMatch,
  IncomingBody,
  type IncomingRequest,
  type Reply,
  RequestSignal,
  type Versioned,
} from '#platform/http';
import type { Page } from '#platform/paging';
import { CreatesNamed, LifecycleController } from '../../resources';
import {
  CreateSkillDto,
  CreateSkillQueryDto,
  PatchSkillDto,
  SkillDto,
  SkillListQueryDto,
  SkillPageDto,
} from './skill.dto';
import { SkillService } from './skill.service';
import { SkillUploadService } from './skill-upload.service';
import { TakesSkill } from '../upload/skill-upload';

@ApiTags('Skills')
@Controller('skill/v1/skills')
export class SkillController extends LifecycleController({
  param: 'skill_id',
  view: SkillDto,
  archive: { summary: 'Archive a skill' },
  restore: { summary: 'Restore an archived skill' },
  delete: { summary: 'Delete an archived skill' },
}) {
  constructor(
    private readonly skills: SkillService,
    private readonly uploads: SkillUploadService,
  ) {
    super(skills);
  }

  /** Create a skill from JSON members or from an upload of its directory */
  @Post()
  @RequireRoleSomewhere('editor')
  @TakesSkill(CreateSkillDto, ['workspace_id'])
  @CreatesNamed(SkillDto)
  async create(
    @CurrentScope() scope: OrgScope,
    @IncomingBody() body: IncomingRequest,
    @Query() query: CreateSkillQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const skill = await this.uploads.create(scope, body, query, signal);
    return created(`/skill/v1/skills/${skill.view.skill_id}`, skill);
  }

  /** List skills */
  @Get()
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: SkillPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: SkillListQueryDto): Promise<Page<SkillDto>> {
    return this.skills.list(scope, query);
  }

  /** Get a skill */
  @Get(':skill_id')
  @RequireRoleSomewhere('viewer', 'runtime')
  @ApiOkResponse({ type: SkillDto })
  get(@CurrentScope() scope: OrgScope, @Param('skill_id') id: string): Promise<Versioned<SkillDto>> {
    return this.skills.get(scope, id);
  }

  /**
   * Change fields of SKILL.md
   *
   * @remarks Each change creates a version.
   */
  @Patch(':skill_id')
  @RequireRoleSomewhere('editor')
  @ApiOkResponse({ type: SkillDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('skill_id') id: string,
    @Body() dto: PatchSkillDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<SkillDto>> {
    return this.skills.patch(scope, id, dto, ifMatch);
  }
}
