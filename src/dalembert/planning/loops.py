"""The planner's loops, in the subset of Python that `compile.native` makes machine code of.

W states lie side by side in the lanes of a vector. Obstacles lie by W too, field by field, so that one look tells
which of W of them come near what the lanes sweep; only those are compared exactly, lane by lane; so do the links, for
each other. A link's few coarse spheres are looked at before its many fine ones, and those only for what touches the
coarse one. Links with convex pieces are compared by these where spheres around the whole links touch (`separation`).

    in       n vectors: the states                               boxes    blocks of W: center, R, half sides, rounding
    poses    12 vectors for each body that carries spheres       links    per coarse sphere: its body, its fine ones
"""

# ruff: noqa: F821 - the names in capitals, the intrinsics and `poses` are the compiler's
# mypy: disable-error-code="name-defined"

from __future__ import annotations

from dalembert.compile.native import Int, Ints, Mask, Real, Reals, Truth, Vector


def placed(pose: Reals, sphere: Reals, row: Int) -> Vector:
    """A coordinate of a sphere's center in the base frame: p + R c."""
    t = fma(load(pose, W * (3 * row)), sphere[0], load(pose, W * (9 + row)))
    t = fma(load(pose, W * (3 * row + 1)), sphere[1], t)
    return fma(load(pose, W * (3 * row + 2)), sphere[2], t)


def box_gap(x: Vector, y: Vector, z: Vector, r: Real, b: Reals) -> Vector:
    """Negative where spheres touch a box with rounded edges: |max(|Rᵀ(x − c)| − h, 0)|² − (r + ρ)²."""
    dx = x - b[0]
    dy = y - b[W]
    dz = z - b[2 * W]
    u = maximum(absolute(fma(dz, b[9 * W], fma(dy, b[6 * W], dx * b[3 * W]))) - b[12 * W], 0.0)
    v = maximum(absolute(fma(dz, b[10 * W], fma(dy, b[7 * W], dx * b[4 * W]))) - b[13 * W], 0.0)
    w = maximum(absolute(fma(dz, b[11 * W], fma(dy, b[8 * W], dx * b[5 * W]))) - b[14 * W], 0.0)
    reach = r + b[15 * W]
    return fma(u, u, fma(v, v, w * w)) - reach * reach


def near_boxes(x: Real, y: Real, z: Real, r: Real, b: Reals) -> Mask:
    """The same for one sphere and W boxes."""
    dx = x - load(b, 0)
    dy = y - load(b, W)
    dz = z - load(b, 2 * W)
    u = maximum(absolute(fma(dz, load(b, 9 * W), fma(dy, load(b, 6 * W), dx * load(b, 3 * W)))) - load(b, 12 * W), 0.0)
    v = maximum(absolute(fma(dz, load(b, 10 * W), fma(dy, load(b, 7 * W), dx * load(b, 4 * W)))) - load(b, 13 * W), 0.0)
    w = maximum(absolute(fma(dz, load(b, 11 * W), fma(dy, load(b, 8 * W), dx * load(b, 5 * W)))) - load(b, 14 * W), 0.0)
    reach = r + load(b, 15 * W)
    return fma(u, u, fma(v, v, w * w)) < reach * reach


def cylinder_gap(x: Vector, y: Vector, z: Vector, r: Real, b: Reals) -> Vector:
    """Negative where spheres touch a cylinder: along its axis and away from it."""
    dx = x - b[0]
    dy = y - b[W]
    dz = z - b[2 * W]
    along = fma(dz, b[5 * W], fma(dy, b[4 * W], dx * b[3 * W]))
    square = fma(dx, dx, fma(dy, dy, fma(dz, dz, -(along * along))))
    u = maximum(absolute(along) - b[6 * W], 0.0)
    v = maximum(sqrt(maximum(square, 0.0)) - b[7 * W], 0.0)
    return fma(u, u, v * v) - r * r


def near_cylinders(x: Real, y: Real, z: Real, r: Real, b: Reals) -> Mask:
    """The same for one sphere and W cylinders."""
    dx = x - load(b, 0)
    dy = y - load(b, W)
    dz = z - load(b, 2 * W)
    along = fma(dz, load(b, 5 * W), fma(dy, load(b, 4 * W), dx * load(b, 3 * W)))
    square = fma(dx, dx, fma(dy, dy, fma(dz, dz, -(along * along))))
    u = maximum(absolute(along) - load(b, 6 * W), 0.0)
    v = maximum(sqrt(maximum(square, 0.0)) - load(b, 7 * W), 0.0)
    return fma(u, u, v * v) < r * r


def plane_gap(x: Vector, y: Vector, z: Vector, r: Real, b: Reals) -> Vector:
    """Negative where spheres touch a half space: n·x − d − r."""
    return fma(x, b[0], fma(y, b[1], z * b[2])) - b[3] - r


def hits(h: Ints, data: Reals, work: Reals, near: Ints, everyone: Truth) -> Int:
    """The lanes that touch themselves or the world, as bits; at the first that does, or with `everyone` of all. Links
    are compared with each other from the base, with the world from the tip: where most that touch do; first with what
    touched more often so far."""
    unfolded = work[FLAGS:]
    for b in range(h[BLOCKS]):
        store(unfolded, W * b, wide(0.0))
    if not everyone and hits_again(h, data, work) != 0:
        h[OFTENER] -= 1
        return FULL
    sweeps = work[h[SWEEPS] :]  # of each link, how far its lanes are from the middle one
    for c in range(h[COARSE]):
        s = data[h[COARSE_AT] + 4 * c :]
        pose = work[POSES + 12 * W * h[h[LINKS_AT] + 3 * c] :]
        x = placed(pose, s, 0)
        y = placed(pose, s, 1)
        z = placed(pose, s, 2)
        center = work[h[CENTERS] + 3 * W * c :]
        store(center, 0, x)
        store(center, W, y)
        store(center, 2 * W, z)
        dx = x - lane(x, W // 2)
        dy = y - lane(y, W // 2)
        dz = z - lane(z, W // 2)
        sweeps[c] = largest(fma(dx, dx, fma(dy, dy, dz * dz)))
    for b in range(h[BLOCKS]):
        store(sweeps, W * b, sqrt(load(sweeps, W * b)))
    found = 0
    own = h[OFTENER] > 0
    for _turn in range(2):
        if own:
            found = found | hits_itself(h, data, work, near, everyone)
            h[OFTENER] += 1 if found != 0 else 0
        else:
            for c in range(h[MOVING]):
                found = found | hits_world(h, data, work, near, c)
                if found != 0 and (not everyone or found == FULL):
                    h[OFTENER] -= 1
                    return found
        if found != 0 and (not everyone or found == FULL):
            return found
        own = not own
    return found


def hits_itself(h: Ints, data: Reals, work: Reals, near: Ints, everyone: Truth) -> Int:
    """The lanes in which links touch. Each is compared with all that it may meet before one is looked at closely.
    Pairs with pieces whose spheres are few are compared by these first."""
    found = 0
    solid = h[h[PAIR_SOLIDS_AT] :]
    for p in range(h[SOLID_PAIRS]):
        near[h[NEAR_SOLIDS] + p] = 0
    first = h[h[PAIRS_AT] :]  # of each link, the first of its pairs
    others = first[h[COARSE] + 1 :]
    squares = data[h[SQUARES_AT] :]
    centers = work[h[CENTERS] :]
    for k in range(h[COARSE]):
        i = h[COARSE] - 1 - k
        least = wide(0.0)
        for p in range(first[i], first[i + 1]):
            least = minimum(least, gap(centers[3 * W * i :], centers[3 * W * others[p] :], squares[p]))
        if bits(least < 0.0) != 0:
            for p in range(first[i], first[i + 1]):
                j = others[p]
                if bits(gap(centers[3 * W * i :], centers[3 * W * j :], squares[p]) < 0.0) != 0:
                    these = meets(h, data, work, near, i, j)
                    if solid[p] < 0:
                        found = found | these
                    else:
                        near[h[NEAR_SOLIDS] + solid[p]] = near[h[NEAR_SOLIDS] + solid[p]] | these
                    if found != 0 and (not everyone or found == FULL):
                        h[LAST] = NOTHING
                        return found
    found = found | hits_pieces(h, data, work, near, everyone)
    if found != 0:
        h[LAST] = NOTHING
    return found


def hits_pieces(h: Ints, data: Reals, work: Reals, near: Ints, everyone: Truth) -> Int:
    """The lanes in which links with pieces touch. With `everyone` all lanes of a pair are compared at once; else one
    lane with all pairs after another, from the middle, and first the pair that touched last."""
    near = near[h[NEAR_SOLIDS] :]
    centers = work[h[SOLID_CENTERS] :]
    bodies = h[h[SOLID_BODIES_AT] :]
    pairs = h[h[SOLID_PAIRS_AT] :]
    for k in range(h[SOLIDS]):
        pose = work[POSES + 12 * W * bodies[k] :]
        for row in range(3):
            store(centers, W * (3 * k + row), placed(pose, data[h[SOLIDS_AT] + 4 * k :], row))
    some = 0
    for p in range(h[SOLID_PAIRS]):
        if h[h[SOLID_FILTERED_AT] + p] == 0:
            a = centers[3 * W * pairs[6 * p] :]
            b = centers[3 * W * pairs[6 * p + 1] :]
            near[p] = bits(gap(a, b, data[h[SOLID_SQUARES_AT] + p]) < 0.0)
        some = some | near[p]
    found = 0
    if some != 0 and everyone:
        for p in range(h[SOLID_PAIRS]):
            if near[p] != 0:
                found = found | meets_as_pieces(h, data, work, p, near[p])
    elif some != 0:
        p = h[LAST_PAIR]
        for k in range(W):
            lane = 1 << ((5 * k + W // 2) % W)
            if some & lane != 0:
                for _m in range(h[SOLID_PAIRS]):
                    if near[p] & lane != 0 and meets_as_pieces(h, data, work, p, lane) != 0:
                        h[LAST_PAIR] = p
                        return FULL
                    p = p + 1 if p + 1 < h[SOLID_PAIRS] else 0
    return found


def meets_as_pieces(h: Ints, data: Reals, work: Reals, p: Int, lanes: Int) -> Int:
    """Those of these lanes in which the links of a pair touch, by their pieces."""
    pair = h[h[SOLID_PAIRS_AT] + 6 * p :]
    bodies = h[h[SOLID_BODIES_AT] :]
    clear = data[h[LIMITS_AT] + 2 * N]
    own = work[h[SOLID_ROOM] :]
    wanted = own[OWN + W :]
    store(wanted, 0, wide(clear))
    separate(
        data[h[PIECES_AT] :],
        data[h[CORNERS_AT] :],
        h[h[PIECE_INDEX_AT] :],
        own,
        pair[2:],
        work[POSES + 12 * W * bodies[pair[0]] :],
        work[POSES + 12 * W * bodies[pair[1]] :],
        lanes,
        wanted,
        clear,
    )
    return bits(load(wanted, 0) < clear)


def hits_world(h: Ints, data: Reals, work: Reals, near: Ints, c: Int) -> Int:
    """The lanes in which a link touches obstacles; first looked at is what its coarse sphere sweeps over the lanes."""
    found = 0
    boxes = data[h[BOXES_AT] :]
    cylinders = data[h[CYLINDERS_AT] :]
    planes = data[h[PLANES_AT] :]
    center = work[h[CENTERS] + 3 * W * c :]
    x = load(center, 0)
    y = load(center, W)
    z = load(center, 2 * W)
    mx = center[W // 2]
    my = center[W + W // 2]
    mz = center[2 * W + W // 2]
    r = data[h[COARSE_AT] + 4 * c + 3]
    reach = (work[h[SWEEPS] + c] + r) * 1.00001
    count = 0
    for b in range(h[BOXES]):
        candidates = bits(near_boxes(mx, my, mz, reach, boxes[16 * W * b :]))
        while candidates != 0:
            k = 16 * W * b + lowest(candidates)
            candidates = candidates & (candidates - 1)
            near[count] = k
            count = count + (1 if bits(box_gap(x, y, z, r, boxes[k:]) < 0.0) != 0 else 0)
    last_box = count
    for b in range(h[CYLINDERS]):
        candidates = bits(near_cylinders(mx, my, mz, reach, cylinders[8 * W * b :]))
        while candidates != 0:
            k = 8 * W * b + lowest(candidates)
            candidates = candidates & (candidates - 1)
            near[count] = k
            count = count + (1 if bits(cylinder_gap(x, y, z, r, cylinders[k:]) < 0.0) != 0 else 0)
    last_cylinder = count
    for k in range(h[PLANES]):
        near[count] = 4 * k
        count = count + (1 if bits(plane_gap(x, y, z, r, planes[4 * k :]) < 0.0) != 0 else 0)
    if count > 0:
        unfold(h, data, work, c)
    for i in range(count):
        kind = BOX if i < last_box else CYLINDER if i < last_cylinder else PLANE
        these = link_hits(h, data, work, c, kind, near[i])
        found = found | these
        if these != 0:
            h[LAST] = kind
            h[LAST_LINK] = c
            h[LAST_OTHER] = near[i]
    return found


def link_hits(h: Ints, data: Reals, work: Reals, c: Int, kind: Int, at: Int) -> Int:
    """The lanes in which fine spheres of a coarse one touch an obstacle."""
    least = wide(0.0)
    link = h[h[LINKS_AT] + 3 * c :]
    boxes = data[h[BOXES_AT] + at :]
    cylinders = data[h[CYLINDERS_AT] + at :]
    planes = data[h[PLANES_AT] + at :]
    for f in range(link[1], link[2]):
        center = work[h[FINES] + 3 * W * f :]
        x = load(center, 0)
        y = load(center, W)
        z = load(center, 2 * W)
        r = data[h[FINE_AT] + 4 * f + 3]
        if kind == BOX:
            least = minimum(least, box_gap(x, y, z, r, boxes))
        elif kind == CYLINDER:
            least = minimum(least, cylinder_gap(x, y, z, r, cylinders))
        else:
            least = minimum(least, plane_gap(x, y, z, r, planes))
    return bits(least < 0.0)


def hits_again(h: Ints, data: Reals, work: Reals) -> Int:
    """The lanes in which the same link touches the same obstacle as when one last did: edges that follow each other are
    often stopped by the same."""
    if h[LAST] == NOTHING:
        return 0
    unfold(h, data, work, h[LAST_LINK])
    return link_hits(h, data, work, h[LAST_LINK], h[LAST], h[LAST_OTHER])


def unfold(h: Ints, data: Reals, work: Reals, c: Int) -> None:
    """Place the fine spheres of a coarse one, once for these states."""
    done = work[FLAGS + c :]
    if done[0] == 0.0:
        done[0] = 1.0
        link = h[h[LINKS_AT] + 3 * c :]
        pose = work[POSES + 12 * W * link[0] :]
        for row in range(3):
            a = load(pose, W * (3 * row))
            b = load(pose, W * (3 * row + 1))
            d = load(pose, W * (3 * row + 2))
            p = load(pose, W * (9 + row))
            to = work[h[FINES] + W * row :]
            fine = data[h[FINE_AT] :]
            for f in range(link[1], link[2]):
                store(to, 3 * W * f, fma(d, fine[4 * f + 2], fma(b, fine[4 * f + 1], fma(a, fine[4 * f], p))))


def gap(a: Reals, b: Reals, square: Real) -> Vector:
    """Negative in the lanes in which centers are nearer than this, squared."""
    dx = load(a, 0) - load(b, 0)
    dy = load(a, W) - load(b, W)
    dz = load(a, 2 * W) - load(b, 2 * W)
    return fma(dx, dx, fma(dy, dy, dz * dz)) - square


def touching(a: Reals, b: Reals, r: Real) -> Int:
    """The lanes in which centers are nearer than r."""
    return bits(gap(a, b, r * r) < 0.0)


def meets(h: Ints, data: Reals, work: Reals, near: Ints, i: Int, j: Int) -> Int:
    """The lanes in which fine spheres of the coarse ones i and j touch; looked at are those that reach into the other
    coarse one."""
    unfold(h, data, work, i)
    unfold(h, data, work, j)
    a = h[h[LINKS_AT] + 3 * i :]
    b = h[h[LINKS_AT] + 3 * j :]
    radius = data[h[FINE_AT] + 3 :]
    centers = work[h[FINES] :]
    less = data[h[LIMITS_AT] + 2 * N]
    around = data[h[COARSE_AT] + 4 * i + 3] - less
    first = work[h[CENTERS] + 3 * W * i :]
    count = 0
    for l in range(b[1], b[2]):
        near[count] = l
        count = count + (1 if touching(centers[3 * W * l :], first, radius[4 * l] + around) != 0 else 0)
    least = wide(0.0)
    if count > 0:
        around = data[h[COARSE_AT] + 4 * j + 3] - less
        first = work[h[CENTERS] + 3 * W * j :]
        last = count
        for k in range(a[1], a[2]):
            near[last] = k
            last = last + (1 if touching(centers[3 * W * k :], first, radius[4 * k] + around) != 0 else 0)
        for m in range(count, last):
            k = near[m]
            own = radius[4 * k] - less
            for l in range(count):
                r = own + radius[4 * near[l]]
                least = minimum(least, gap(centers[3 * W * k :], centers[3 * W * near[l] :], r * r))
    return bits(least < 0.0)


def free(h: Ints, data: Reals, work: Reals, near: Ints, a: Reals, d: Reals, length: Real, finer: Real) -> Truth:
    """Whether nothing touches along q = a + s d, 0 < s ≤ 1: `finer` states per unit of length, W at a time spread over
    the whole edge, so that the first look meets most obstacles."""
    steps = maximum(ceil(length * finer / WIDTH), 1.0)
    back = 1.0 / (WIDTH * steps)
    first = 1.0 / WIDTH
    for _k in range(whole(steps)):
        s = ramp(first, 1.0 / WIDTH)
        for j in range(N):
            store(work, W * j, fma(s, d[j], a[j]))
        poses(work, work[POSES:])
        if hits(h, data, work, near, False) != 0:
            return False
        first = first - back
    return True


def between(a: Reals, b: Reals, d: Reals) -> Real:
    """d = b − a and its length."""
    total = 0.0
    for j in range(N):
        d[j] = b[j] - a[j]
        total = fma(d[j], d[j], total)
    return sqrt(total)


def add(tree: Reals, parents: Ints, radii: Reals, k: Int, q: Reals, parent: Int) -> None:
    """Node k of a tree: blocks of W nodes, coordinate by coordinate; what is not there is far away."""
    block = tree[(k // W) * (N * W) :]
    if k % W == 0:
        store(block, 0, wide(FAR))
    for j in range(N):
        block[W * j + k % W] = q[j]
    parents[k] = parent
    radii[k] = FAR


def node(tree: Reals, k: Int, q: Reals) -> None:
    block = tree[(k // W) * (N * W) + k % W :]
    for j in range(N):
        q[j] = block[W * j]


def nearest(tree: Reals, size: Int, q: Reals, scratch: Reals) -> Int:
    """The node nearest to q, by looking at all, W at a time."""
    best = wide(FAR * FAR)
    at = wide(0.0)
    for b in range((size + W - 1) // W):
        block = tree[b * (N * W) :]
        total = wide(0.0)
        for j in range(N):
            d = load(block, W * j) - q[j]
            total = fma(d, d, total)
        closer = total < best
        best = where(closer, total, best)
        at = where(closer, real(b), at)
    least = smallest(best)
    lane = lowest(bits(best <= least))
    store(scratch, 0, at)
    return whole(scratch[lane]) * W + lane


def sample(k: Int, data: Reals, h: Ints, q: Reals) -> None:
    """Point k of an additive sequence within the limits: lower + span · frac(offset + k α)."""
    for j in range(N):
        turns = h[h[SAMPLES_AT] + 2 * j] + k * h[h[SAMPLES_AT] + 2 * j + 1]
        q[j] = fma(data[h[LIMITS_AT] + N + j], real(turns >> 40) * ULP, data[h[LIMITS_AT] + j])


def around(limits: Reals, a: Reals, scale: Real, q: Reals) -> None:
    """Move a sample of the whole range near a state: a + scale (q − middle), within the limits."""
    for j in range(N):
        low = limits[j]
        span = limits[N + j]
        near = fma(scale, q[j] - fma(0.5, span, low), a[j])
        q[j] = minimum(maximum(near, low), low + span)


def copy(a: Reals, b: Reals) -> None:
    for j in range(N):
        b[j] = a[j]


def connect(
    h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, trees: Reals, radii: Reals, parents: Ints, info: Ints
) -> Int:
    """Trees from the start and from the goals that grow to samples and to each other (Kuffner and LaValle 2000), each
    node with a domain that shrinks where it fails (Yershova et al. 2005). Trees that hardly grow, an end being in a
    narrow place, try every second sample near one of their nodes. 1 if they met; info then has the two nodes,
    start tree first. Else 0 (no more iterations) or −1 (no more room)."""
    room = info[ROOM]
    q = work[STATES:]
    new = work[STATES + N :]
    d = work[STATES + 2 * N :]
    other = work[STATES + 3 * N :]
    scratch = work[SCRATCH:]
    t = 1
    while info[ITERATIONS] < info[MOST]:
        info[ITERATIONS] += 1
        size = real(info[SIZES + t])
        if absolute(size - real(info[SIZES + 1 - t])) < set[RATIO] * size:
            t = 1 - t
        u = 1 - t
        mine = trees[t * (room * N) :]
        theirs = trees[u * (room * N) :]
        sample(info[ITERATIONS] + info[SKIPPED], data, h, q)
        if info[ITERATIONS] % 2 == 0 and info[ITERATIONS] > STUCK * (info[SIZES] + info[SIZES + 1]):
            node(mine, info[ITERATIONS] // 2 % info[SIZES + t], other)
            around(data[h[LIMITS_AT] :], other, 0.5 / real(1 << (info[ITERATIONS] // 2 % SCALES)), q)
        k = nearest(mine, info[SIZES + t], q, scratch)
        node(mine, k, other)
        length = between(other, q, d)
        radius = radii[t * room + k]
        if length > radius or length == 0.0:
            continue
        if length > set[RANGE]:
            for j in range(N):
                d[j] = d[j] * (set[RANGE] / length)
            length = set[RANGE]
        if not free(h, data, work, near, other, d, length, set[FINER]):
            radii[t * room + k] = set[RADIUS] if radius >= FAR else maximum(radius * (1.0 - set[ALPHA]), set[LEAST])
            continue
        if radius < FAR:
            radii[t * room + k] = radius * (1.0 + set[ALPHA])
        for j in range(N):
            new[j] = other[j] + d[j]
        if info[SIZES + t] >= room:
            return -1
        add(mine, parents[t * room :], radii[t * room :], info[SIZES + t], new, k)
        info[SIZES + t] += 1
        k = nearest(theirs, info[SIZES + u], new, scratch)
        node(theirs, k, other)
        length = between(new, other, d)
        steps = maximum(ceil(length / set[RANGE]), 1.0)
        for j in range(N):
            d[j] = d[j] / steps
        left = whole(steps)
        while left > 0 and free(h, data, work, near, new, d, length / steps, set[FINER]):
            if info[SIZES + t] >= room:
                return -1
            for j in range(N):
                new[j] = new[j] + d[j]
            add(mine, parents[t * room :], radii[t * room :], info[SIZES + t], new, info[SIZES + t] - 1)
            info[SIZES + t] += 1
            left -= 1
        if left == 0:
            info[MET + t] = info[SIZES + t] - 1
            info[MET + u] = k
            return 1
    return 0


def trace(trees: Reals, parents: Ints, path: Reals, info: Ints) -> Int:
    """The path through both trees; how many states it has, or −1 if they do not fit."""
    room = info[ROOM]
    count = 0
    k = info[MET]
    while k >= 0:
        count += 1
        k = parents[k]
    if count > info[LONGEST]:
        return -1
    k = info[MET]
    i = count
    while k >= 0:
        i -= 1
        node(trees, k, path[i * N :])
        k = parents[k]
    k = parents[room + info[MET + 1]]  # the node itself is where the other tree ended
    while k >= 0:
        if count >= info[LONGEST]:
            return -1
        node(trees[room * N :], k, path[count * N :])
        count += 1
        k = parents[room + k]
    return count


def straight(h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, a: Reals, b: Reals) -> Truth:
    d = work[STATES + 4 * N :]
    length = between(a, b, d)
    return free(h, data, work, near, a, d, length, set[FINER])


def shortest(
    h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, path: Reals, size: Int, cost: Reals, after: Ints
) -> Int:
    """The shortest way through states of the path along free edges, from its end; the new size."""
    d = work[STATES + 4 * N :]
    cost[size - 1] = 0.0
    i = size - 2
    while i >= 0:
        a = path[i * N :]
        after[i] = i + 1
        cost[i] = between(a, path[(i + 1) * N :], d) + cost[i + 1]
        j = size - 1
        while j > i + 1:
            total = between(a, path[j * N :], d) + cost[j]
            if total < cost[i] and straight(h, data, work, near, set, a, path[j * N :]):
                cost[i] = total
                after[i] = j
            j -= 1
        i -= 1
    i = 0
    count = 0
    while i < size - 1:
        i = after[i]
        count += 1
        copy(path[i * N :], path[count * N :])
    return count + 1


def smooth(h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, path: Reals, size: Int) -> Int:
    """Halve every edge, then move corners to where a quadratic B-spline has them; 1 if any moved."""
    for i in range(1, size):
        k = size - i
        for j in range(N):
            path[2 * k * N + j] = path[k * N + j]
    for k in range(size - 1):
        for j in range(N):
            path[(2 * k + 1) * N + j] = 0.5 * (path[2 * k * N + j] + path[(2 * k + 2) * N + j])
    moved = 0
    middle = work[STATES + 5 * N :]
    d = work[STATES + 4 * N :]
    k = 2
    while k < 2 * size - 2:
        a = path[(k - 1) * N :]
        b = path[k * N :]
        c = path[(k + 1) * N :]
        for j in range(N):
            middle[j] = 0.5 * b[j] + 0.25 * (a[j] + c[j])
        far = between(b, middle, d) > set[CHANGE]
        if far and straight(h, data, work, near, set, a, middle) and straight(h, data, work, near, set, middle, c):
            copy(middle, b)
            moved = 1
        k += 2
    return moved


def simplify(
    h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, path: Reals, info: Ints, cost: Reals, after: Ints
) -> None:
    """Shortcuts and B-splines in turn."""
    size = info[SIZE]
    if size > 2 and straight(h, data, work, near, set, path, path[(size - 1) * N :]):
        copy(path[(size - 1) * N :], path[N:])
        size = 2
    for _i in range(info[ROUNDS]):
        if size < 3:
            break
        before = size
        size = shortest(h, data, work, near, set, path, size, cost, after)
        changed = 1 if size < before else 0
        if size > 2 and 2 * size - 1 <= info[LONGEST]:
            changed = changed + smooth(h, data, work, near, set, path, size)
            size = 2 * size - 1
        if changed == 0:
            break
    info[SIZE] = size


def plan(
    h: Ints,
    data: Reals,
    work: Reals,
    near: Ints,
    set: Reals,
    ends: Reals,
    trees: Reals,
    radii: Reals,
    parents: Ints,
    path: Reals,
    info: Ints,
) -> None:
    """A path from the first row of `ends` to any of the others."""
    poses_constants(work[POSES:])
    room = info[ROOM]
    copy(ends, path)
    add(trees, parents, radii, 0, ends, -1)
    info[SIZES] = 1
    for g in range(info[GOALS]):
        goal = ends[(g + 1) * N :]
        if straight(h, data, work, near, set, ends, goal):
            copy(goal, path[N:])
            info[SIZE] = 2
            info[STATUS] = 1
            info[MET + 1] = g
            return
        add(trees[room * N :], parents[room:], radii[room:], g, goal, -1)
    info[SIZES + 1] = info[GOALS]
    info[STATUS] = connect(h, data, work, near, set, trees, radii, parents, info)
    if info[STATUS] == 1:
        info[SIZE] = trace(trees, parents, path, info)
        info[RAW] = info[SIZE]
        if info[SIZE] < 0:
            info[STATUS] = -1
        else:
            simplify(h, data, work, near, set, path, info, radii, parents)


def judge(h: Ints, data: Reals, work: Reals, near: Ints, q: Reals, states: Int, out: Ints) -> None:
    """For each of many states whether it touches anything (1) or not (0)."""
    poses_constants(work[POSES:])
    first = 0
    while first < states:
        lanes = minimum(states - first, W)
        for k in range(W):
            row = q[(first + minimum(k, lanes - 1)) * N :]
            for j in range(N):
                work[W * j + k] = row[j]
        poses(work, work[POSES:])
        found = hits(h, data, work, near, lanes > 1)
        for k in range(lanes):
            out[first + k] = (found >> k) & 1
        first += W


def judge_edges(h: Ints, data: Reals, work: Reals, near: Ints, set: Reals, q: Reals, edges: Int, out: Ints) -> None:
    """For each of many edges, (a, b) one after another, whether a state along it touches anything."""
    poses_constants(work[POSES:])
    for e in range(edges):
        out[e] = 0 if straight(h, data, work, near, set, q[2 * e * N :], q[(2 * e + 1) * N :]) else 1


FUNCTIONS = (
    *(
        placed,
        box_gap,
        near_boxes,
        cylinder_gap,
        near_cylinders,
        plane_gap,
        unfold,
        gap,
        touching,
        hits,
        hits_itself,
        hits_pieces,
        meets_as_pieces,
        hits_world,
        hits_again,
        link_hits,
        meets,
        free,
        between,
        add,
        node,
        nearest,
    ),
    *(sample, around, copy, connect, trace, straight, shortest, smooth, simplify, plan, judge, judge_edges),
)
EXPORTED = ("plan", "judge", "judge_edges")
# Called from many places, and long: written once each. Half of LLVM's time went into what is called a few times in a
# search, or mostly waits for others: it takes that as it is, or makes it short, and no plan is slower for it.
ATTRIBUTES = (
    dict.fromkeys(
        ("hits", "hits_itself", "hits_pieces", "meets_as_pieces", "hits_again", "link_hits", "meets", "unfold"),
        "noinline",
    )
    | dict.fromkeys(("free", "straight", "nearest"), "noinline")
    | dict.fromkeys(("connect", "shortest"), "noinline minsize optsize")
    | dict.fromkeys(("trace", "smooth", "simplify", "plan", "judge_edges"), "noinline optnone")
)
