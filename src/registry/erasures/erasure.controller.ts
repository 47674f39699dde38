import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import {
  AnyPrincipal,
  CurrentPrincipal,
  CurrentScope,
  type OrgScope,
  type Principal,
  RequireRoleSomewhere,
} from '#platform/auth';
import type { Reply } from '#platform/http';
import { Throws } from '#platform/problem';
import { type Page, toPage } from '#platform/paging';
import { acceptedErasure, ERASURE_RESPONSE, ErasureDto, toErasureDto } from '../../resources';
import { CreateErasureDto, ErasureListQueryDto, ErasurePageDto } from './erasure.dto';
import { ErasureService } from './erasure.service';

@ApiTags('Erasures')
@Controller('registry/v1/erasures')
export class ErasureController {
  constructor(private readonly erasures: ErasureService) {}

  /**
   * Erase an end user, a session, a workspace or the organization
   *
   * Needs the role `admin` in the workspace, and `owner` for the organization. A workspace is archived and an organization
   * suspended at once. Data that arrives later for an erased end user is new data, but spans that started before the erasure was
   * requested are refused.
   */
  @Post()
  @HttpCode(202)
  @Throws('conflict', 'not_found')
  @RequireRoleSomewhere('admin')
  @ApiAcceptedResponse(ERASURE_RESPONSE)
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateErasureDto): Promise<Reply> {
    return acceptedErasure(await this.erasures.create(scope, dto));
  }

  /** List the erasures of the workspaces that the caller administers */
  @Get()
  @RequireRoleSomewhere('admin')
  @ApiOkResponse({ type: ErasurePageDto })
  async list(
    @CurrentScope() scope: OrgScope,
    @Query() query: ErasureListQueryDto,
  ): Promise<Page<ErasureDto>> {
    return toPage(await this.erasures.list(scope, query), toErasureDto);
  }

  /**
   * Get an erasure: its progress, and in the end its receipt
   *
   * Needs the role `admin` in its workspace, or in the organization for one without a workspace. Platform principals read the
   * erasures of organizations.
   */
  @Get(':erasure_id')
  @Throws('access_denied', 'forbidden')
  @AnyPrincipal()
  @ApiOkResponse({ type: ErasureDto })
  async get(@CurrentPrincipal() principal: Principal, @Param('erasure_id') id: string): Promise<ErasureDto> {
    return toErasureDto(await this.erasures.get(principal, id));
  }
}
