import { applyDecorators, Delete, HttpCode, Param, Post, Query, type Type } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import { CurrentScope, RequireRoleSomewhere, type Scope } from '#platform/auth';
import { IfMatch, type Reply, type Versioned } from '#platform/http';
import { Throws } from '#platform/problem';
import { acceptedErasure, ERASURE_RESPONSE } from './erasure/erasure.dto';
import type { ErasureEntity } from './erasure/erasure.entity';
import type { Deletion } from './resource.service';
import { DeletionQueryDto } from './resource.dto';

/** Declares the `If-Match` of a route that deletes. */
export const IF_MATCH = ApiHeader({
  name: 'If-Match',
  required: false,
  description: 'The ETag of the version that you change. Returns 412 if the resource has changed since.',
});

/** Declares a route for admins that deletes something without an archive route. Add `@HttpCode(204)`, from which the document is built. */
export const DeleteRoute = (path: string): MethodDecorator =>
  applyDecorators(
    Delete(path),
    Throws('conflict'),
    RequireRoleSomewhere('admin'),
    ApiNoContentResponse(),
    IF_MATCH,
  );

/** Describes a route in OpenAPI. */
interface RouteText {
  summary: string;
  description?: string;
}

interface LifecycleRoutes<View> {
  /** The parameter of the path that identifies the resource. */
  param: string;
  /** The path of the resource below that of the controller. Default: the parameter. */
  path?: string;
  view: Type<View>;
  /** The access rule. Default: admins somewhere, because the service checks the role in the workspace of the resource. */
  access?: MethodDecorator;
  archive: RouteText;
  restore: RouteText;
  delete: RouteText & {
    /** The access rule for deleting. Default: admins somewhere. */
    access?: MethodDecorator;
    /** Whether an erasure deletes it, because it may be too large for one request. */
    isErasure?: boolean;
  };
}

/** The service of the resource. Without the workspace header, it takes an `OrgScope`. */
interface LifecycleService<View> {
  archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<View>>;
  restore(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<View>>;
  /** Returns the erasure that deletes the resource, or nothing if the resource is gone. */
  delete(scope: Scope, id: string, how: Deletion): Promise<ErasureEntity | void>;
}

/**
 * Returns the base of a controller, with the routes that archive, restore and delete a resource: `POST {path}/archive`,
 * `POST {path}/restore` and `DELETE {path}`.
 */
export function LifecycleController<View>({
  param,
  path = `:${param}`,
  view,
  access = RequireRoleSomewhere('admin'),
  archive,
  restore,
  delete: { access: deleteAccess = RequireRoleSomewhere('admin'), isErasure = false, ...deletion },
}: LifecycleRoutes<View>) {
  class Routes {
    constructor(private readonly resources: LifecycleService<View>) {}

    @Post(`${path}/archive`)
    @HttpCode(200)
    @access
    @ApiOperation(archive)
    @ApiOkResponse({ type: view })
    archive(
      @CurrentScope() scope: Scope,
      @Param(param) id: string,
      @IfMatch() ifMatch?: string,
    ): Promise<Versioned<View>> {
      return this.resources.archive(scope, id, ifMatch);
    }

    @Post(`${path}/restore`)
    @HttpCode(200)
    @access
    @ApiOperation(restore)
    @ApiOkResponse({ type: view })
    restore(
      @CurrentScope() scope: Scope,
      @Param(param) id: string,
      @IfMatch() ifMatch?: string,
    ): Promise<Versioned<View>> {
      return this.resources.restore(scope, id, ifMatch);
    }

    @Delete(path)
    @HttpCode(isErasure ? 202 : 204)
    @Throws('conflict')
    @deleteAccess
    @IF_MATCH
    @ApiOperation(deletion)
    @(isErasure ? ApiAcceptedResponse(ERASURE_RESPONSE) : ApiNoContentResponse())
    async delete(
      @CurrentScope() scope: Scope,
      @Param(param) id: string,
      @Query() { force }: DeletionQueryDto,
      @IfMatch() ifMatch?: string,
    ): Promise<Reply | void> {
      const erasure = await this.resources.delete(scope, id, { force, ifMatch });
      if (erasure) return acceptedErasure(erasure);
    }
  }
  return Routes;
}
