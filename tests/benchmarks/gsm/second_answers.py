"""The independent second computation of every template's answer, from the values that its question shows.

Each function reaches the answer by another way than the template: a loop that plays the story, a search, or a different
formula. `TABLE` gives the function of a template by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction


def t0001(n: int, p: int, m: int, fee: int) -> Fraction | int:
    return n * p - (n * m + fee)


def t0002(c: int, h: int, r: int, leak: int) -> Fraction | int:
    level, minutes = h, 0
    while level < c:
        level, minutes = level + r - leak, minutes + 1
    return minutes


def t0003(n: int, share: Fraction, k: int, g: int) -> Fraction | int:
    return Fraction(n) * (1 - share) + g - k


def t0004(p: int, d: int, v: int) -> Fraction | int:
    return Fraction(p * (100 - d), 100) - v


def t0005(a: int, b: int, k: int, m: int) -> Fraction | int:
    return sum([a, a, a, b] + [m] * k)


def t0006(g: int, b: int, n: int, x: int) -> Fraction | int:
    return Fraction(n * b, g + b) + x


def t0007(n: int, k: int, times: int) -> Fraction | int:
    return (times + 2) * n + (times + 1) * k


def t0008(w: int, length: int, gap: int, p: int) -> Fraction | int:
    return sum(p for _ in range(w + length + w + length)) - gap * p


def t0009(k: int, total: int, x: int) -> Fraction | int:
    return Fraction(total + x, k + 1)


def t0010(a: int, b: int, c: int, share: Fraction) -> Fraction | int:
    return Fraction(a + c - b) * (share.denominator - share.numerator) / share.denominator


def t0011(v: int, t: int, k: int) -> Fraction | int:
    return Fraction(v * t, v + k) * 60


def t0012(price: int, s: int, w: int, x: int) -> Fraction | int:
    return next(t for t in range(1000) if s + t * w - t * x >= price)


def t0013(n: int, a: Fraction, b: Fraction) -> Fraction | int:
    return n * (1 - a) * (1 - b)


def t0014(n: int, p: int, k: int, m: int) -> Fraction | int:
    return Fraction(n * (100 + p), 100) + m - k


def t0015(h: int, m: int, ads: int, clean: int, k: int) -> Fraction | int:
    return sum(ads + clean + m + 60 * h for _ in range(k))


def t0016(a: int, c: int, n: int, k: int, d: int) -> Fraction | int:
    friday = n * a + k * c
    saturday = 2 * n * a + (k - d) * c
    return friday + saturday


def t0017(w: int, h: int, k: int, s: int, c: int) -> Fraction | int:
    area = w * h
    area -= sum(s**2 for _ in range(k))
    cans, rest = divmod(area, c)
    assert rest == 0
    return cans


def t0018(a: int, b: int, n: int) -> Fraction | int:
    return Fraction(n * a, a + b) - Fraction(n * b, a + b)


def t0019(k: int, avg: int, low: int) -> Fraction | int:
    return avg + Fraction(avg - low, k - 1)


def t0020(n: int, a: int, b: int, c: int, d: int, e: int) -> Fraction | int:
    shelf = n
    shelf += b - a
    shelf += c - (a + a)
    shelf += sum([e] * d)
    return shelf


def t0021(a: int, b: int, t: int, n: int) -> Fraction | int:
    return Fraction(n - t * a, b) - t


def t0022(n: int, p: int, share: Fraction) -> Fraction | int:
    bus = Fraction(n * p, 100)
    bicycle = share * (n - bus)
    return n - bus - bicycle


def t0023(a: int, k: int, m: int) -> Fraction | int:
    return (m - 1) * a + m * k


def t0024(n: int, p: int, d: int, f: int) -> Fraction | int:
    return Fraction(100 - d, 100) * p * n + f


def t0025(d: int, k: int, m: int, g: int) -> Fraction | int:
    return sum([m] * k, 60 * d) - g


def t0026(length: int, w: int, d: int, k: int, r: int) -> Fraction | int:
    return Fraction(length, k) * Fraction(w * d, r)


def t0027(b: int, r: int, a: int, c: int) -> Fraction | int:
    whole = b + r * (a + c)
    return whole - Fraction(b + r * a, 2)


def t0028(n: int, a: Fraction, k: int) -> Fraction | int:
    return n * (1 - 2 * a) - k


def t0029(p: int, r: int) -> Fraction | int:
    return p * Fraction(100 + r, 100) ** 2


def t0030(a: int, b: int, x: int, y: int) -> Fraction | int:
    return Fraction(x * b + y * a, a * b)


def t0031(a: int, b: int, c: int, n: int) -> Fraction | int:
    shares = [Fraction(n * part, a + b + c) for part in (a, b, c)]
    return shares[2] - shares[0]


def t0032(goal: int, k: int, m: int, x: int) -> Fraction | int:
    return goal + Fraction(goal * m - x, k - m)


def t0033(a: int, d: int, u: int, e: int, b: int) -> Fraction | int:
    eggs = sum(a - e for _ in range(d)) - u
    boxes, rest = divmod(eggs, b)
    assert rest == 0
    return boxes


def t0034(h: int, k: int, times: int) -> Fraction | int:
    return (times - 1) * h - k


def t0035(n: int, cost: int, bad: int, b: int, p: int) -> Fraction | int:
    return sum(p for _ in range(bad + b, n + 1, b)) - cost


def t0036(a: int, b: int, w: int) -> Fraction | int:
    return Fraction(a * 5 * w, 60) + Fraction(b * 2 * w, 60)


def t0037(n: int, k: int, a: int, m: int) -> Fraction | int:
    return Fraction(n, m) - Fraction(k * a, m)


def t0038(n: int, p: int, k: int, b: int) -> Fraction | int:
    return (Fraction(n * (100 + p), 100) - k) / b


def t0039(h: int, up: int, down: int, d: int, c: int) -> Fraction | int:
    height = 0
    height = sum(up - down for _ in range(d))
    return h - height + c


def t0040(n: int, v: int, a: Fraction, b: int) -> Fraction | int:
    juice = n * v
    drunk = juice * a
    return (juice - drunk) / b


def t0041(h: int, a: int, b: int, k: int) -> Fraction | int:
    rent = a
    rent += sum(b for _ in range(1, h))
    return k * 20 - rent


def t0042(n: int, share: Fraction, k: int) -> Fraction | int:
    return n * (1 + 2 * share) - k


def t0043(a: int, m: int, n: int, c: int) -> Fraction | int:
    return Fraction(m, a) * n / c


def t0044(n: int, a: int, b: int, c: int) -> Fraction | int:
    first, second = n, n
    first, second = first + a, second - a
    first, second = first - b, second + b
    first, second = first + c, second - c
    return first - second


def t0045(k: int, avg: int, m: int, r: int) -> Fraction | int:
    return avg + Fraction(m * (avg - r), k - m)


def t0046(d: int, a: int, b: int, t: int) -> Fraction | int:
    return abs((d - b * t) - a * t)


def t0047(w: int, h: int, d: int, share: Fraction, f: int) -> Fraction | int:
    pay = sum(w * h for _ in range(d))
    return pay - f - share * pay


def t0048(n: int, p: int, q: int, share: Fraction) -> Fraction | int:
    green = n - Fraction(n * p, 100) - Fraction(n * q, 100)
    return green - green * share


def t0049(a: int, b: int, n: int) -> Fraction | int:
    town, station, days = 0, 0, 0
    while station - town < n:
        town, station, days = town - a, station + b, days + 1
    return days


def t0050(s: int, w: int, p: int) -> Fraction | int:
    return 4 * (s * w + w * w) * p


def t0051(n: int) -> Fraction | int:
    return next(g for g in range(n) if Fraction(2 * n, 3) - g == Fraction(n, 3) + g)


def t0052(times: int, n: int, k: int) -> Fraction | int:
    return Fraction(n, times + 1) - k


def t0053(a: int, b: int, c: int) -> Fraction | int:
    clock = -a
    clock += b
    clock += c
    return -clock


def t0054(a: Fraction, k: int, e: int) -> Fraction | int:
    seats = Fraction(k * a.denominator, a.denominator - a.numerator)
    return seats - e


def t0055(p: int, n: int, g: int, m: int) -> Fraction | int:
    return n * (Fraction(p, 100) * (g + m) - m)


def t0056(k: int, n: int, h: int, m: int, t: int) -> Fraction | int:
    return Fraction(n * m * t, k * h)


def t0057(a: int, b: int, g: int) -> Fraction | int:
    return Fraction(g * (a + b), b)


def t0058(k: int, avg: int, d: int) -> Fraction | int:
    return avg + d + d * k


def t0059(a: int, k: int, c: int) -> Fraction | int:
    return sum(c * (a + day * k) for day in range(4))


def t0060(a: int, k: int, n: int) -> Fraction | int:
    return (n - k) - 2 * a


def t0061(n: int, p: int, q: int, total: int) -> Fraction | int:
    return next(x for x in range(total) if n * p + x * q == total)


def t0062(a: int, b: int, w: int, e: int, d: int) -> Fraction | int:
    gap = w - e
    gap += sum(a - b for _ in range(d))
    return gap


def t0063(a: int, b: int, k: int, t: int) -> Fraction | int:
    return sum([a] * k) - (t - b)


def t0064(a: Fraction, b: Fraction, r: int) -> Fraction | int:
    return next(n for n in range(1, 1000) if n - n * a - n * b == r)


def t0065(p: int, c: int, q: int) -> Fraction | int:
    return Fraction((p + c) * (100 + q), 100)


def t0066(f: int, d: int, p: int) -> Fraction | int:
    per_kilometer = Fraction(f * p, 100)
    return per_kilometer * d + per_kilometer * d


def t0067(c: int, k: int, x: int, h: int) -> Fraction | int:
    return Fraction(k * x, c) - h


def t0068(k: int, avg: int, e: int) -> Fraction | int:
    return sum(avg for _ in range(k)) - e * k


def t0069(a: int, b: int) -> Fraction | int:
    return a * 4 - b - b


def t0070(s: int, w: int, length: int, k: int) -> Fraction | int:
    per_meter = Fraction(100, s)
    return per_meter * w * per_meter * length / k


def t0071(a: int, p: int, q: int, r: int) -> Fraction | int:
    return (a // 2) * (2 * p + q) + r


def t0072(a: int, k: int, m: int) -> Fraction | int:
    return 3 * a - (k + k + m)


def t0073(a: int, k: int, h: int) -> Fraction | int:
    drops = sum(a for _ in range(60 * h))
    return Fraction(drops, k)


def t0074(n: int, p: int, share: Fraction) -> Fraction | int:
    actors = Fraction(n * p, 100)
    silent = actors - actors * share
    return (n - actors) + silent


def t0075(f: int, r: int, s: int) -> Fraction | int:
    return Fraction(s, r) * f


def t0076(a: Fraction, b: Fraction, k: int) -> Fraction | int:
    return next(v for v in range(1, 100_000) if v * a - k == v * b)


def t0077(w: int, p: int, q: int, m: int) -> Fraction | int:
    return Fraction(w * (100 + p) * q * m, 10_000)


def t0078(a: int, b: int, n: int) -> Fraction | int:
    return Fraction(60 * n * (a - b), a * b)


def t0079(r: int, a: int, b: int, n: int) -> Fraction | int:
    return Fraction(r * n * a, a + b)


def t0080(k: int, m: int, a: int, b: int) -> Fraction | int:
    return a + Fraction(m * (b - a), k + m)


def t0081(a: int, b: int, k: int, m: int, w: int) -> Fraction | int:
    sweets = a + b
    sweets -= sum(k + (m if day % 7 == 6 else 0) for day in range(7 * w))
    return sweets


def t0082(a: int, b: int, c: int, e: int) -> Fraction | int:
    return Fraction(a * b * c, e**3)


def t0083(a: int, b: int, share: Fraction, k: int, n: int) -> Fraction | int:
    return (a * (1 - share) + b - k) / n


def t0084(n: int, a: int, b: int) -> Fraction | int:
    return next(x for x in range(n) if 3 * x + a + a - b == n)


def t0085(a: int, b: int, k: int) -> Fraction | int:
    clock = 0
    clock += a
    clock += sum(b + a for _ in range(1, k))
    return clock


def t0086(a: Fraction, d: int) -> Fraction | int:
    return Fraction(d * a.numerator, a.denominator - a.numerator)


def t0087(n: int, p: int, c: int) -> Fraction | int:
    return Fraction(n * c * (200 - p), 100)


def t0088(h: int, a: int, x: int, y: int, t: int) -> Fraction | int:
    height = h
    height += sum(x if year < a else y for year in range(t))
    return height


def t0089(a: int, b: int, n: int) -> Fraction | int:
    blue = Fraction(n - b, a + 2)
    return n - blue - (blue + b)


def t0090(avg: int, a: int, b: int, c: int) -> Fraction | int:
    return next(x for x in range(500) if Fraction(a + b + c + x + x, 5) == avg)


def t0091(f: int, s: int, n: int, a: int, b: int) -> Fraction | int:
    free = sum([s] * f) - n
    free += b - a
    taken = f * s - free
    return free - taken


def t0092(k: int, p: int) -> Fraction | int:
    width = next(w for w in range(1, p) if w + w + k * w + k * w == p)
    return width * k * width


def t0093(a: int, k: int, c: int, m: int) -> Fraction | int:
    return m * k * a - m * c


def t0094(k: int, t: int) -> Fraction | int:
    return next(x for x in range(200) if x + k + t == 2 * (x + t))


def t0095(a: int, b: int, t: int, n: int) -> Fraction | int:
    return next(x for x in range(t) if x * a + (t - x) * b == n)


def t0096(p: int, n: int, k: int) -> Fraction | int:
    return Fraction(n * (100 - p), 100 * k)


def t0097(a: int, p: int, b: int, q: int, share: Fraction, n: int) -> Fraction | int:
    bill = sum([p] * a) + sum([q] * b)
    club = bill * share
    return (bill - club) / n


def t0098(a: int, x: int, y: int) -> Fraction | int:
    ahead, days = a * x, 0
    while ahead > 0:
        ahead, days = ahead + x - y, days + 1
    return days


def t0099(a: int, b: int, k: int) -> Fraction | int:
    basket = [a, b, a + b, -k]
    return Fraction(sum(basket), 3)


def t0100(e: int, a: int, b: int, c: int, n: int) -> Fraction | int:
    edges = [e] * 12 + [a, b, c] * 4
    return n - sum(edges)


def e001(a: int, b: int) -> Fraction | int:
    return sum((a, b))


def e002(a: int, b: int) -> Fraction | int:
    return len(range(b, a))


def e003(a: int, b: int) -> Fraction | int:
    return sum([b] * a)


def e004(n: int, k: int) -> Fraction | int:
    return next(g for g in range(n) if g * k == n)


def e005(a: int, b: int) -> Fraction | int:
    return b + a


def e006(a: int, b: int) -> Fraction | int:
    return a + -b


def e007(n: int, p: int) -> Fraction | int:
    return sum(p for _ in range(n))


def e008(a: int, b: int) -> Fraction | int:
    return a - b


def e009(a: int, b: int) -> Fraction | int:
    return sum([5] * ((a + b) // 5))


def e010(a: int, b: int) -> Fraction | int:
    return a + b


def e011(a: int, b: int) -> Fraction | int:
    return a - b


def e012(a: int) -> Fraction | int:
    return a + a


def e013(n: int) -> Fraction | int:
    return n >> 1


def e014(a: int, b: int, c: int) -> Fraction | int:
    return sum((c, b, a))


def e015(a: int, b: int, c: int) -> Fraction | int:
    return a + (c - b)


def e016(a: int, b: int, c: int) -> Fraction | int:
    return a - (c - b)


def e017(n: int) -> Fraction | int:
    return sum(8 for _ in range(n))


def e018(k: int, d: int) -> Fraction | int:
    return sum([k] * d)


def e019(s: int) -> Fraction | int:
    return s + s + s + s


def e020(a: int, b: int) -> Fraction | int:
    return sum(1 for _ in range(a) for _ in range(b))


def e021(n: int, k: int) -> Fraction | int:
    return len(range(0, n, k))


def e022(a: int, b: int) -> Fraction | int:
    return b + a


def e023(a: int, w: int) -> Fraction | int:
    return sum(a for _ in range(w))


def e024(n: int, p: int, bill: int) -> Fraction | int:
    return bill - sum([p] * n)


def e025(a: int, b: int) -> Fraction | int:
    return a + b


def e026(a: int, b: int) -> Fraction | int:
    return len(range(b, a))


def e027(a: int, b: int) -> Fraction | int:
    return a - b


def e028(n: int) -> Fraction | int:
    return n + n + n + n


def e029(m: int, n: int) -> Fraction | int:
    return sum([m] * n)


def e030(n: int, k: int) -> Fraction | int:
    return sum([7] * n, k)


def e031(a: int, b: int) -> Fraction | int:
    return a - b


def e032(a: int, b: int) -> Fraction | int:
    return len(range(b, a))


def e033(n: int) -> Fraction | int:
    return n - n // 2 - 1


def e034(r: int, h: int) -> Fraction | int:
    return sum([r] * h)


def e035(n: int, h: int) -> Fraction | int:
    return next(v for v in range(n) if v * h == n)


def e036(a: int, b: int) -> Fraction | int:
    return a + Fraction(b - a, 2)


def e037(n: int, k: int, m: int) -> Fraction | int:
    return sum([k] * n, m)


def e038(a: int, b: int, c: int) -> Fraction | int:
    return a - (b + c)


def e039(k: int, n: int) -> Fraction | int:
    return sum([k] * n)


def e040(a: int, b: int) -> Fraction | int:
    return b + a


TABLE: dict[str, Callable[..., Fraction | int]] = {
    "0001": t0001,
    "0002": t0002,
    "0003": t0003,
    "0004": t0004,
    "0005": t0005,
    "0006": t0006,
    "0007": t0007,
    "0008": t0008,
    "0009": t0009,
    "0010": t0010,
    "0011": t0011,
    "0012": t0012,
    "0013": t0013,
    "0014": t0014,
    "0015": t0015,
    "0016": t0016,
    "0017": t0017,
    "0018": t0018,
    "0019": t0019,
    "0020": t0020,
    "0021": t0021,
    "0022": t0022,
    "0023": t0023,
    "0024": t0024,
    "0025": t0025,
    "0026": t0026,
    "0027": t0027,
    "0028": t0028,
    "0029": t0029,
    "0030": t0030,
    "0031": t0031,
    "0032": t0032,
    "0033": t0033,
    "0034": t0034,
    "0035": t0035,
    "0036": t0036,
    "0037": t0037,
    "0038": t0038,
    "0039": t0039,
    "0040": t0040,
    "0041": t0041,
    "0042": t0042,
    "0043": t0043,
    "0044": t0044,
    "0045": t0045,
    "0046": t0046,
    "0047": t0047,
    "0048": t0048,
    "0049": t0049,
    "0050": t0050,
    "0051": t0051,
    "0052": t0052,
    "0053": t0053,
    "0054": t0054,
    "0055": t0055,
    "0056": t0056,
    "0057": t0057,
    "0058": t0058,
    "0059": t0059,
    "0060": t0060,
    "0061": t0061,
    "0062": t0062,
    "0063": t0063,
    "0064": t0064,
    "0065": t0065,
    "0066": t0066,
    "0067": t0067,
    "0068": t0068,
    "0069": t0069,
    "0070": t0070,
    "0071": t0071,
    "0072": t0072,
    "0073": t0073,
    "0074": t0074,
    "0075": t0075,
    "0076": t0076,
    "0077": t0077,
    "0078": t0078,
    "0079": t0079,
    "0080": t0080,
    "0081": t0081,
    "0082": t0082,
    "0083": t0083,
    "0084": t0084,
    "0085": t0085,
    "0086": t0086,
    "0087": t0087,
    "0088": t0088,
    "0089": t0089,
    "0090": t0090,
    "0091": t0091,
    "0092": t0092,
    "0093": t0093,
    "0094": t0094,
    "0095": t0095,
    "0096": t0096,
    "0097": t0097,
    "0098": t0098,
    "0099": t0099,
    "0100": t0100,
    "e001": e001,
    "e002": e002,
    "e003": e003,
    "e004": e004,
    "e005": e005,
    "e006": e006,
    "e007": e007,
    "e008": e008,
    "e009": e009,
    "e010": e010,
    "e011": e011,
    "e012": e012,
    "e013": e013,
    "e014": e014,
    "e015": e015,
    "e016": e016,
    "e017": e017,
    "e018": e018,
    "e019": e019,
    "e020": e020,
    "e021": e021,
    "e022": e022,
    "e023": e023,
    "e024": e024,
    "e025": e025,
    "e026": e026,
    "e027": e027,
    "e028": e028,
    "e029": e029,
    "e030": e030,
    "e031": e031,
    "e032": e032,
    "e033": e033,
    "e034": e034,
    "e035": e035,
    "e036": e036,
    "e037": e037,
    "e038": e038,
    "e039": e039,
    "e040": e040,
}
