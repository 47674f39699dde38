import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { RATE_LIMIT_CLASS, type RateLimitClass } from '#platform/rate-limit';
import type { AccessRule, Area } from '#platform/scope';
import { ACCESS_RULE, ALLOWED_BY, WORKSPACE_REQUIRED } from './access.decorator';
import { type Access, Admission } from './admission';

/** Admits the requests of controllers by the decorators of their routes. */
@Injectable()
export class AdmissionGuard implements CanActivate {
  /** By class and handler, because reading the decorators takes longer than most checks. */
  private readonly declared = new WeakMap<object, Map<object, Access>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly admission: Admission,
  ) {}

  canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    return this.admission.admit(http.getRequest(), http.getResponse(), this.accessOf(context));
  }

  private accessOf(context: ExecutionContext): Access {
    const [handler, type] = [context.getHandler(), context.getClass()];
    let ofType = this.declared.get(type);
    if (!ofType) this.declared.set(type, (ofType = new Map<object, Access>()));
    let access = ofType.get(handler);
    if (!access) ofType.set(handler, (access = this.readAccess([handler, type])));
    return access;
  }

  private readAccess(targets: Parameters<Reflector['getAllAndOverride']>[1]): Access {
    return {
      rule: this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, targets),
      isInWorkspace:
        this.reflector.getAllAndOverride<boolean | undefined>(WORKSPACE_REQUIRED, targets) === true,
      areas: this.reflector.getAllAndOverride<readonly Area[] | undefined>(ALLOWED_BY, targets),
      rateClass: this.reflector.getAllAndOverride<RateLimitClass | undefined>(RATE_LIMIT_CLASS, targets),
    };
  }
}
