import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, CurrentRequestId, PlatformOnly, type Principal } from '#platform/auth';
import { created, IfMatch, type Reply, versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { CreateOrgDto, OrgDto, OrgListQueryDto, OrgPageDto, PatchAnyOrgDto } from './org.dto';
import { OrgService } from './org.service';

/** All organizations, for platform principals. */
@ApiTags('Platform')
@Controller('registry/v1/orgs')
@PlatformOnly()
export class PlatformOrgController {
  constructor(private readonly organizations: OrgService) {}

  /** Create an organization */
  @Post()
  @ApiCreatedResponse({ type: OrgDto })
  async create(
    @CurrentPrincipal() { id: principalId }: Principal,
    @CurrentRequestId() requestId: string,
    @Body() dto: CreateOrgDto,
  ): Promise<Reply> {
    const { view, version } = await this.organizations.create({ principalId, requestId }, dto);
    return created(`/registry/v1/orgs/${view.org_id}`, view, version);
  }

  /** List organizations */
  @Get()
  @ApiOkResponse({ type: OrgPageDto })
  list(@Query() query: OrgListQueryDto): Promise<Page<OrgDto>> {
    return this.organizations.list(query);
  }

  /** Get an organization */
  @Get(':org_id')
  @ApiOkResponse({ type: OrgDto })
  async get(@Param('org_id') orgId: string): Promise<Reply> {
    const { view, version } = await this.organizations.getAny(orgId);
    return versioned(view, version);
  }

  /** Change, suspend or reinstate an organization */
  @Patch(':org_id')
  @ApiOkResponse({ type: OrgDto })
  async patch(
    @CurrentPrincipal() { id: principalId }: Principal,
    @CurrentRequestId() requestId: string,
    @Param('org_id') orgId: string,
    @Body() dto: PatchAnyOrgDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Reply> {
    const actor = { orgId, principalId, requestId };
    const { view, version } = await this.organizations.patchAny(actor, dto, ifMatch);
    return versioned(view, version);
  }
}
