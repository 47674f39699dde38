import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import {
  CurrentPrincipal,
  CurrentRequestId,
  CurrentScope,
  expandRoles,
  type OrgScope,
  orgScope,
  PlatformOnly,
  type Principal,
  RequireRoleEverywhere,
  RequireRoleInAnyWorkspace,
} from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import { Throws } from '#platform/problem';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { acceptedErasure, ERASURE_RESPONSE } from '../../resources';
import { CreateOrgDto, OrgDto, OrgListQueryDto, OrgPageDto, PatchAnyOrgDto, PatchOrgDto } from './org.dto';
import { OrgService } from './org.service';

@ApiTags('Accounts')
@Controller('registry/v1/org')
export class OrgController {
  constructor(private readonly organizations: OrgService) {}

  /** Get the caller's organization */
  @Get()
  @RequireRoleInAnyWorkspace('viewer')
  @ApiOkResponse({ type: OrgDto })
  get(@CurrentScope() scope: OrgScope): Promise<Versioned<OrgDto>> {
    return this.organizations.get(scope, scope.orgId);
  }

  /** Change the caller's organization */
  @Patch()
  @RequireRoleEverywhere('owner')
  @ApiOkResponse({ type: OrgDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Body() dto: PatchOrgDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<OrgDto>> {
    return this.organizations.patch(scope, dto, ifMatch);
  }

  /**
   * Delete the caller's organization, with everything in it
   *
   * Suspends it at once. Only platform principals can then read the receipt.
   */
  @Delete()
  @HttpCode(202)
  @Throws('conflict')
  @RequireRoleEverywhere('owner')
  @ApiAcceptedResponse(ERASURE_RESPONSE)
  async delete(@CurrentScope() scope: OrgScope): Promise<Reply> {
    return acceptedErasure(await this.organizations.erase(scope));
  }
}

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
    @CurrentPrincipal() principal: Principal,
    @CurrentRequestId() requestId: string,
    @Body() dto: CreateOrgDto,
  ): Promise<Reply> {
    const organization = await this.organizations.create(ownerScope(newId('org'), principal, requestId), dto);
    return created(`/registry/v1/orgs/${organization.view.org_id}`, organization);
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
  get(
    @CurrentPrincipal() principal: Principal,
    @CurrentRequestId() requestId: string,
    @Param('org_id') orgId: string,
  ): Promise<Versioned<OrgDto>> {
    return this.organizations.get(ownerScope(orgId, principal, requestId), orgId);
  }

  /** Change, suspend or reinstate an organization */
  @Patch(':org_id')
  @ApiOkResponse({ type: OrgDto })
  patch(
    @CurrentPrincipal() principal: Principal,
    @CurrentRequestId() requestId: string,
    @Param('org_id') orgId: string,
    @Body() dto: PatchAnyOrgDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<OrgDto>> {
    return this.organizations.patch(ownerScope(orgId, principal, requestId), dto, ifMatch);
  }

  /** Delete an organization, with everything in it */
  @Delete(':org_id')
  @HttpCode(202)
  @Throws('conflict')
  @ApiAcceptedResponse(ERASURE_RESPONSE)
  async delete(
    @CurrentPrincipal() principal: Principal,
    @CurrentRequestId() requestId: string,
    @Param('org_id') orgId: string,
  ): Promise<Reply> {
    return acceptedErasure(await this.organizations.erase(ownerScope(orgId, principal, requestId)));
  }
}

/** Returns the scope in which a platform principal acts as the owner of an organization. */
const ownerScope = (orgId: string, { id }: Principal, requestId: string): OrgScope =>
  orgScope(orgId, id, expandRoles(['owner']), requestId);
