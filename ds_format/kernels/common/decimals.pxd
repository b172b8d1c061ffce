"""Decimal numbers ↔ doubles, each the nearest or the shortest one, mostly without Python.

The product or quotient of an integer of 64 bits and a power of ten, both exact in a float of 80 bits, is rounded once.
It decides what the nearest double is, unless the bits behind those of a double are exactly one half. Where there is no
such float, only integers of 53 bits and powers up to 22 are decided, whose quotient a double rounds once. The rest is
left to Python.
"""

from cpython.mem cimport PyMem_Free
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport strlen

from .output cimport Output, put_bytes

cdef extern from "Python.h":
    int Py_DTSF_ADD_DOT_0
    char* PyOS_double_to_string(double value, char format, int precision, int flags, int* kind) except NULL

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #define DS_TENS 27
    static const long double ds_tens[DS_TENS + 1] = {
        1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L,
        1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L
    };

    /* Returns the number in 80 bits; its mantissa is the result of one rounding. */
    static inline long double ds_scaled(long double number, int exponent) {
        return exponent < 0 ? number / ds_tens[-exponent] : number * ds_tens[exponent];
    }

    /* Returns whether the bits of the mantissa behind the first `kept` ones are exactly one half. */
    static inline int ds_is_half(long double number, int kept) {
        uint64_t mantissa;
        memcpy(&mantissa, &number, sizeof mantissa);
        return mantissa << kept == (uint64_t)1 << 63;
    }

    /* Finds the double nearest to digits * 10**exponent; returns 0 if it is not sure. */
    static inline int ds_nearest(uint64_t digits, int exponent, double *found) {
        long double number;
        if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << 53 && -22 <= exponent && exponent <= 22) {
            const double ten = (double)ds_tens[exponent < 0 ? -exponent : exponent];
            *found = exponent < 0 ? (double)digits / ten : (double)digits * ten;
            return 1;
        }
        if (LDBL_MANT_DIG != 64 || exponent < -DS_TENS || exponent > DS_TENS) return 0;
        number = ds_scaled((long double)digits, exponent);
        if (ds_is_half(number, DBL_MANT_DIG)) return 0;
        *found = (double)number;
        return 1;
    }

    /* The same for single precision. */
    static inline int ds_nearest_single(uint64_t digits, int exponent, float *found) {
        long double number;
        if (LDBL_MANT_DIG != 64 || exponent < -DS_TENS || exponent > DS_TENS) return 0;
        number = ds_scaled((long double)digits, exponent);
        if (ds_is_half(number, FLT_MANT_DIG)) return 0;
        *found = (float)number;
        return 1;
    }

    /* Finds the fewest digits that mean this positive number, and the closest to it of them; returns 0 if not sure.
       No two numbers with at most `always` digits have the same double or float, and `most` are enough for any. */
    static inline int ds_shortest(double value, int is_single, uint64_t *digits, int *exponent) {
        const int always = is_single ? 6 : 15, most = is_single ? 9 : 17;
        int first, tens, places;
        long double scaled;
        if (LDBL_MANT_DIG != 64 || !(value > 1e-10 && value < 1e27)) return 0;
        frexp(value, &tens);
        tens = (int)floor((tens - 1) * 0.30102999566398114);
        first = most - 1 - tens;
        if (first < -DS_TENS || first > DS_TENS) return 0;
        scaled = ds_scaled(value, first);
        if (scaled >= ds_tens[most]) {
            if (--first < -DS_TENS) return 0;
            scaled = ds_scaled(value, first);
        }
        for (places = always; places <= most; places++) {
            const long double part = scaled / ds_tens[most - places];
            const uint64_t whole = (uint64_t)part;
            const double rest = (double)(part - (long double)whole);
            const int power = most - places - first;
            /* `scaled` may be wrong by 0.004 of its last digit; a number in the middle is never as short as `always` */
            if (fabs(rest - 0.5) < (places == most ? 1e-2 : 1e-3)) {
                if (places == always) continue;
                return 0;
            }
            *digits = whole + (rest > 0.5);
            *exponent = power;
            if (is_single) {
                float back;
                if (!ds_nearest_single(*digits, power, &back)) return 0;
                if (back != (float)value) continue;
            } else {
                double back;
                if (!ds_nearest(*digits, power, &back)) return 0;
                if (back != value) continue;
            }
            if (places == always)
                while (*digits % 10 == 0) { *digits /= 10; ++*exponent; }
            else {
                int ignored; /* below a power of two, doubles are closer, and other digits may be the shortest */
                if (frexp(value, &ignored) == 0.5) return 0;
            }
            return 1;
        }
        return 0;
    }

    static const char ds_pairs[201] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

    /* Writes an integer of at most 20 bytes; returns its end. */
    static inline uint8_t *ds_put_integer(uint8_t *out, int64_t value) {
        uint8_t digits[20], *p = digits + 20;
        uint64_t left = (uint64_t)value;
        if (value < 0) { *out++ = '-'; left = 0 - left; }
        for (; left >= 100; left /= 100) { p -= 2; memcpy(p, ds_pairs + 2 * (left % 100), 2); }
        if (left >= 10) { p -= 2; memcpy(p, ds_pairs + 2 * left, 2); }
        else *--p = (uint8_t)('0' + left);
        memcpy(out, p, (size_t)(digits + 20 - p));
        return out + (digits + 20 - p);
    }

    /* Writes a number with at most 15 digits, 6 of them after the point, like Python's repr; returns NULL for others.
       No two such decimals have the same double, so the first one that equals the value is the shortest. */
    static inline uint8_t *ds_put_decimal(uint8_t *out, double value) {
        static const double tens[7] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
        static const int64_t whole[7] = {1, 10, 100, 1000, 10000, 100000, 1000000};
        const double size = fabs(value);
        if (!(size >= 1e-3 && size < 1e9)) return NULL;
        for (int places = 0; places < 7; places++) {
            const int64_t scaled = (int64_t)(size * tens[places] + 0.5);
            if ((double)scaled / tens[places] == size) {
                int64_t rest = scaled % whole[places];
                if (value < 0) *out++ = '-';
                out = ds_put_integer(out, scaled / whole[places]);
                *out++ = '.';
                if (!places) *out++ = '0';
                for (int i = places - 1; i >= 0; i--, rest /= 10) out[i] = (uint8_t)('0' + rest % 10);
                return out + places;
            }
        }
        return NULL;
    }

    /* Writes digits * 10**exponent as Python's repr does: with an exponent below 1e-4 and from 1e16 on. */
    static inline uint8_t *ds_put_digits(uint8_t *out, uint64_t digits, int exponent) {
        uint8_t text[20];
        const int n = (int)(ds_put_integer(text, (int64_t)digits) - text), point = n + exponent, power = point - 1;
        if (-4 < point && point <= 0) {
            memcpy(out, "0.000", 5);
            memcpy(out + 2 - point, text, n);
            return out + 2 - point + n;
        }
        if (0 < point && point <= 16) {
            memset(out, '0', point);
            memcpy(out, text, n < point ? n : point);
            out[point] = '.';
            if (n <= point) { out[point + 1] = '0'; return out + point + 2; }
            memcpy(out + point + 1, text + point, n - point);
            return out + n + 1;
        }
        *out++ = text[0];
        if (n > 1) { *out = '.'; memcpy(out + 1, text + 1, n - 1); out += n; }
        *out++ = 'e';
        *out++ = power < 0 ? '-' : '+';
        if (-10 < power && power < 10) *out++ = '0';
        return ds_put_integer(out, power < 0 ? -power : power);
    }

    /* Writes a finite number with the fewest digits, at most 25 bytes; returns NULL if it is not sure of them. */
    static inline uint8_t *ds_put_number(uint8_t *out, double value, int is_single) {
        uint64_t digits;
        int exponent;
        uint8_t *end;
        if (value == 0) {
            if (signbit(value)) *out++ = '-';
            memcpy(out, "0.0", 3);
            return out + 3;
        }
        if (!is_single && (end = ds_put_decimal(out, value)) != NULL) return end;
        if (!ds_shortest(fabs(value), is_single, &digits, &exponent)) return NULL;
        if (value < 0) *out++ = '-';
        return ds_put_digits(out, digits, exponent);
    }
    """
    bint nearest "ds_nearest"(uint64_t digits, int exponent, double* found) noexcept nogil
    uint8_t* put_integer "ds_put_integer"(uint8_t* out, int64_t value) noexcept nogil
    uint8_t* put_digits "ds_put_digits"(uint8_t* out, uint64_t digits, int exponent) noexcept nogil
    uint8_t* put_number "ds_put_number"(uint8_t* out, double value, bint is_single) noexcept nogil


cdef inline int put_by_python(Output* output, double value) except -1:
    """Append a finite number, as Python's repr spells it."""
    cdef char* digits = PyOS_double_to_string(value, c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    try:
        return put_bytes(output, digits, strlen(digits))
    finally:
        PyMem_Free(digits)
