import { HttpCode, Param, Post, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { CurrentScope, RequireRoleSomewhere, type Scope } from '#platform/auth';
import { IfMatch, type Versioned } from '#platform/http';

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
}

/** The service of the resource. Without the workspace header, it takes an `OrgScope`. */
interface LifecycleService<View> {
  archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<View>>;
  restore(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<View>>;
}

/** Returns the base of a controller, with the routes that archive and restore a resource: `POST {path}/archive` and `…/restore`. */
export function LifecycleController<View>({
  param,
  path = `:${param}`,
  view,
  access = RequireRoleSomewhere('admin'),
  archive,
  restore,
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
  }
  return Routes;
}
