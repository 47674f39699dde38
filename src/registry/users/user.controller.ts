import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRole, RequireRoleEverywhere } from '#platform/auth';
import { created, IfMatch, type Reply, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { CreateUserDto, PatchUserDto, UserDto, UserListQueryDto, UserPageDto } from './user.dto';
import { UserService } from './user.service';

@ApiTags('Accounts')
@Controller('registry/v1/users')
export class UserController {
  constructor(private readonly users: UserService) {}

  /** Add a user to the organization */
  @Post()
  @RequireRoleEverywhere('admin')
  @ApiCreatedResponse({ type: UserDto })
  async create(@CurrentScope() scope: OrgScope, @Body() dto: CreateUserDto): Promise<Reply> {
    const { view, version } = await this.users.create(scope, dto);
    return created(`/registry/v1/users/${encodeURIComponent(view.user_id)}`, view, version);
  }

  /** List the users of the organization */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: UserPageDto })
  list(@CurrentScope() scope: OrgScope, @Query() query: UserListQueryDto): Promise<Page<UserDto>> {
    return this.users.list(scope, query);
  }

  /** Get a user */
  @Get(':user_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: UserDto })
  get(@CurrentScope() scope: OrgScope, @Param('user_id') userId: string): Promise<Versioned<UserDto>> {
    return this.users.get(scope, userId);
  }

  /** Change, suspend or reinstate a user */
  @Patch(':user_id')
  @RequireRoleEverywhere('admin')
  @ApiOkResponse({ type: UserDto })
  patch(
    @CurrentScope() scope: OrgScope,
    @Param('user_id') userId: string,
    @Body() dto: PatchUserDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<UserDto>> {
    return this.users.patch(scope, userId, dto, ifMatch);
  }

  /**
   * Delete a user
   *
   * @remarks What the user has created stays, and names the user's id. You cannot delete yourself.
   */
  @Delete(':user_id')
  @HttpCode(204)
  @Throws('conflict')
  @RequireRoleEverywhere('admin')
  @ApiNoContentResponse()
  async delete(
    @CurrentScope() scope: OrgScope,
    @Param('user_id') userId: string,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    await this.users.delete(scope, userId, { ifMatch });
  }
}
